package sqlite_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/wire"
	native "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var ctx = context.Background()

// payload is 300 bytes of JSON.
var payload = []byte(`{"text":"` + strings.Repeat("x", 289) + `"}`)

func digest(text string) id.Digest {
	sum := sha256.Sum256([]byte(text))
	return id.Digest(hex.EncodeToString(sum[:]))
}

// bench is a board with one level region, written by hand.
type bench struct {
	s   *sqlite.Store
	row board.Row
	reg board.Region
}

func newBench(tb testing.TB, s *sqlite.Store, name string) *bench {
	tb.Helper()
	b := &bench{s: s, row: board.Row{Ref: id.Ref{Tenant: "bench", Board: id.Board(name)}, Rev: 1,
		Created: time.Now(), Latest: time.Now(), Runs: 1,
		Run: &board.Run{Number: 1, OpenedAt: time.Now(), Activity: time.Now()}},
		reg: board.Region{Region: wire.Region{Name: "notes", Kind: wire.Level}}}
	tx, _, err := s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
	if err != nil {
		tb.Fatal(err)
	}
	must(tb, tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: b.row, Create: true, Regions: []board.Region{b.reg}}}}))
	must(tb, tx.Commit(ctx))
	return b
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// write appends n entries with keys in one transaction.
func (b *bench) write(tb testing.TB, n int) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%s-%09d", b.row.Ref.Board, int(b.row.Head)+i+1)
	}
	tx, facts, err := b.s.Begin(ctx, []board.Want{{Ref: b.row.Ref, Have: b.row.Rev, Keys: keys}})
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	if !facts[0].Same || len(facts[0].Keys) != 0 {
		tb.Fatal("not the same")
	}
	b.row.Rev++
	b.row.Latest = tx.Now()
	run := *b.row.Run
	run.Activity = tx.Now()
	b.row.Run = &run
	entries := make([]board.Entry, n)
	for i, key := range keys {
		b.row.Head++
		entries[i] = board.Entry{Salt: payload[:16], Entry: wire.Entry{Seq: b.row.Head, Region: "notes", Kind: wire.Level,
			Writer: "analyst", At: tx.Now(), Key: key, Content: payload, Digest: benchDigest}}
	}
	b.reg.Last, b.reg.Count, b.reg.LastWriter = b.row.Head, int64(b.row.Head), "analyst"
	must(tb, tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: b.row, Regions: []board.Region{b.reg}, Entries: entries}}}))
	must(tb, tx.Commit(ctx))
}

// change commits one change, at the next revision.
func (b *bench) change(tb testing.TB, c board.Change) {
	tb.Helper()
	tx, _, err := b.s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	b.row.Rev++
	c.Row = b.row
	must(tb, tx.Apply(ctx, board.Changes{Boards: []board.Change{c}}))
	must(tb, tx.Commit(ctx))
}

// writeContent appends one entry without a key.
func (b *bench) writeContent(tb testing.TB, content []byte) {
	tb.Helper()
	b.row.Head++
	b.change(tb, board.Change{Entries: []board.Entry{{Salt: payload[:16], Entry: wire.Entry{Seq: b.row.Head,
		Region: "notes", Kind: wire.Level, Content: content, Digest: benchDigest}}}})
}

func (b *bench) erase(tb testing.TB, seqs ...id.Seq) {
	tb.Helper()
	var c board.Change
	for _, seq := range seqs {
		c.Erase = append(c.Erase, board.Tombstone{Seq: seq, Erasure: wire.Erasure{At: time.Now(), By: "officer"}})
	}
	b.change(tb, c)
}

func (b *bench) delete(tb testing.TB) {
	tb.Helper()
	b.change(tb, board.Change{Delete: true})
}

// writeBoth appends one entry to each of two boards in one transaction.
func writeBoth(tb testing.TB, s *sqlite.Store, boards ...*bench) {
	var wants []board.Want
	for _, b := range boards {
		wants = append(wants, board.Want{Ref: b.row.Ref})
	}
	tx, _, err := s.Begin(ctx, wants)
	if err != nil {
		tb.Error(err)
		return
	}
	defer tx.Rollback()
	var changes []board.Change
	for _, b := range boards {
		b.row.Rev++
		b.row.Head++
		changes = append(changes, board.Change{Row: b.row, Entries: []board.Entry{{Entry: wire.Entry{Seq: b.row.Head,
			Region: "notes", Kind: wire.Level, Content: payload}}}})
	}
	if err := tx.Apply(ctx, board.Changes{Boards: changes}); err != nil {
		tb.Error(err)
		return
	}
	if err := tx.Commit(ctx); err != nil {
		tb.Error(err)
	}
}

var benchDigest = digest("bench")

// raw writes the same rows into the same tables with the statements by hand.
type raw struct {
	c    *native.Conn
	seq  int64
	salt []byte
	dig  []byte
}

func newRaw(tb testing.TB) *raw {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "raw.db")
	s := open(tb, path, sqlite.Options{})
	newBench(tb, s, "a")
	must(tb, s.Close())
	c, err := native.OpenConn(path, native.OpenReadWrite)
	must(tb, err)
	tb.Cleanup(func() { c.Close() })
	for _, p := range []string{`PRAGMA journal_mode=WAL`, `PRAGMA synchronous=FULL`, `PRAGMA foreign_keys=ON`, `PRAGMA cache_size=-8192`} {
		must(tb, sqlitex.ExecuteTransient(c, p, nil))
	}
	dig, _ := hex.DecodeString(string(benchDigest))
	return &raw{c: c, salt: payload[:16], dig: dig}
}

func (r *raw) exec(tb testing.TB, stmt *native.Stmt) {
	if _, err := stmt.Step(); err != nil {
		tb.Fatal(err)
	}
	must(tb, stmt.Reset())
}

func (r *raw) write(tb testing.TB, n int) {
	r.exec(tb, r.c.Prep(`BEGIN IMMEDIATE`))
	now := time.Now().UnixMicro()
	for range n {
		r.seq++
		st := r.c.Prep(`INSERT INTO entries (tenant, board, seq, region, kind, version, writer, at, key, digest, salt, content)
			VALUES (1, 1, ?, 'notes', 'level', 0, 'analyst', ?, ?, ?, ?, ?)`)
		st.BindInt64(1, r.seq)
		st.BindInt64(2, now)
		st.BindText(3, fmt.Sprintf("key-a-%09d", r.seq))
		st.BindBytes(4, r.dig)
		st.BindBytes(5, r.salt)
		st.BindBytes(6, payload)
		r.exec(tb, st)
	}
	st := r.c.Prep(`UPDATE regions SET last = ?1, count = ?1, last_writer = 'analyst' WHERE tenant = 1 AND board = 1 AND name = 'notes'`)
	st.BindInt64(1, r.seq)
	r.exec(tb, st)
	st = r.c.Prep(`UPDATE boards SET rev = ?1, head = ?1, latest = ?2, run_activity = ?2 WHERE id = 1`)
	st.BindInt64(1, r.seq)
	st.BindInt64(2, now)
	r.exec(tb, st)
	r.exec(tb, r.c.Prep(`COMMIT`))
}

// BenchmarkLevelWrite is one durable level write with a key through the store.
func BenchmarkLevelWrite(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "slate.db"), sqlite.Options{})
			defer s.Close()
			x := newBench(b, s, "a")
			b.ReportAllocs()
			for b.Loop() {
				x.write(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/entry")
		})
	}
}

// BenchmarkRaw is the floor of BenchmarkLevelWrite: the same rows and indexes.
func BenchmarkRaw(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			x := newRaw(b)
			b.ReportAllocs()
			for b.Loop() {
				x.write(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/entry")
		})
	}
}

// BenchmarkRead is a page of 100 entries after a cursor.
func BenchmarkRead(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "slate.db"), sqlite.Options{})
	defer s.Close()
	x := newBench(b, s, "a")
	for range 50 {
		x.write(b, 100)
	}
	b.Run("page=100", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.Entries(ctx, x.row.Ref, board.EntryQuery{After: 2000, Limit: 100}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Look(ctx, board.Want{Ref: x.row.Ref, Have: x.row.Rev}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLevelWriteAgainstRaw takes turns with its floor, so that whatever else
// the machine does falls on both, and reports the medians.
func BenchmarkLevelWriteAgainstRaw(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "slate.db"), sqlite.Options{})
			defer s.Close()
			ours, floor := newBench(b, s, "a"), newRaw(b)
			var a, z []time.Duration
			for b.Loop() {
				start := time.Now()
				ours.write(b, n)
				middle := time.Now()
				floor.write(b, n)
				a, z = append(a, middle.Sub(start)), append(z, time.Since(middle))
			}
			slices.Sort(a)
			slices.Sort(z)
			x, y := float64(a[len(a)/2]), float64(z[len(z)/2])
			b.ReportMetric(x, "ns/ours")
			b.ReportMetric(y, "ns/raw")
			b.ReportMetric(x/y, "ours/raw")
		})
	}
}
