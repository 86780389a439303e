package boardtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

func (r *rig) put(data string) id.Digest {
	r.t.Helper()
	d, err := r.s.PutBlob(r.ctx, by("a"), []byte(data))
	r.ok(err)
	return d
}

// collect removes the unreferenced values that were put before an instant.
func (r *rig) collect(before time.Time) {
	r.t.Helper()
	tx, _, err := r.store.Begin(r.ctx, nil)
	r.ok(err)
	defer tx.Rollback()
	r.ok(tx.Apply(r.ctx, board.Changes{CollectBlobs: before}))
	r.ok(tx.Commit(r.ctx))
}

// has reports whether the tenant has a value.
func (r *rig) has(d id.Digest) bool {
	r.t.Helper()
	_, err := r.s.Blob(r.ctx, by("a"), d)
	if err != nil {
		r.refused(err, refusal.UnknownBlob)
	}
	return err == nil
}

var blobs = []sentence{
	{"a value is found by the SHA-256 of its bytes, whatever they are", func(t *testing.T, r *rig) {
		for _, data := range [][]byte{{}, {0}, []byte("\xff\xfe not text \x00"), bytes.Repeat([]byte("long "), 500_000)} {
			d, err := r.s.PutBlob(r.ctx, by("a"), data)
			r.ok(err)
			sum := sha256.Sum256(data)
			equal(t, "digest", string(d), hex.EncodeToString(sum[:]))
			for _, p := range []*rig{r, r.again()} {
				got, err := p.s.Blob(r.ctx, by("b"), d)
				r.ok(err)
				if !bytes.Equal(got, data) {
					t.Fatalf("%d bytes became %d", len(data), len(got))
				}
			}
		}
	}},
	{"putting a value again is the same", func(t *testing.T, r *rig) {
		equal(t, "digest", r.put("x"), r.put("x"))
		got, err := r.s.Blob(r.ctx, by("a"), r.put("x"))
		r.ok(err)
		equal(t, "value", string(got), "x")
	}},
	{"a value beyond the limit is refused TOO_LARGE", func(t *testing.T, r *rig) {
		_, err := r.s.PutBlob(r.ctx, by("a"), make([]byte, boards.MaxBlob+1))
		r.refused(err, refusal.TooLarge)
	}},
	{"a value that is not there is refused UNKNOWN_BLOB, as is another tenant's", func(t *testing.T, r *rig) {
		d := r.put("ours")
		_, err := r.s.Blob(r.ctx, control.Principal{Tenant: "another", Name: "a"}, d)
		r.refused(err, refusal.UnknownBlob)
		for _, d := range []id.Digest{"", "nonsense", id.Digest(hex.EncodeToString(make([]byte, 32)))} {
			_, err = r.s.Blob(r.ctx, by("a"), d)
			r.refused(err, refusal.UnknownBlob)
		}
	}},
	{"a write that refers to a value that is not there is refused and writes nothing", func(t *testing.T, r *rig) {
		r.create()
		d := r.put("x")
		for _, missing := range []id.Digest{"", "nonsense", id.Digest(hex.EncodeToString(make([]byte, 32)))} {
			_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Blobs: []id.Digest{d, missing}})
			r.refused(err, refusal.UnknownBlob)
			_, err = r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`), Blobs: []id.Digest{missing}})
			r.refused(err, refusal.UnknownBlob)
		}
		equal(t, "head", r.show().Head, 0)
	}},
	{"an entry carries its references and keeps what it refers to", func(t *testing.T, r *rig) {
		r.create()
		a, b, loose := r.put("a"), r.put("b"), r.put("loose")
		r.wrote(r.s.WriteLevel(r.ctx, by("w"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Blobs: []id.Digest{b, a}}))
		r.wrote(r.s.WritePremise(r.ctx, by("w"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`), Blobs: []id.Digest{a}}))
		got := r.again().changes()
		if len(got[0].Blobs) != 2 || got[0].Blobs[0] != b || got[0].Blobs[1] != a || len(got[1].Blobs) != 1 {
			t.Fatalf("%+v", got)
		}
		r.clock.move(time.Hour)
		r.collect(r.clock.now())
		if !r.has(a) || !r.has(b) || r.has(loose) {
			t.Fatalf("kept: a %v, b %v, loose %v", r.has(a), r.has(b), r.has(loose))
		}
	}},
	{"a value that nothing refers to stays until the instant it is collected by, and putting it renews it", func(t *testing.T, r *rig) {
		old, renewed := r.put("old"), r.put("renewed")
		r.clock.move(time.Hour)
		r.put("renewed")
		r.collect(start)
		if !r.has(old) {
			t.Fatal("collected by the instant it was put at")
		}
		r.collect(start.Add(tick))
		if r.has(old) || !r.has(renewed) {
			t.Fatalf("old %v, renewed %v", r.has(old), r.has(renewed))
		}
	}},
	{"a sweep collects what nothing referred to for a day", func(t *testing.T, r *rig) {
		d := r.put("x")
		r.clock.move(24 * time.Hour)
		r.sweep()
		if !r.has(d) {
			t.Fatal("collected within the day")
		}
		r.clock.move(2 * time.Hour)
		r.sweep()
		if r.has(d) {
			t.Fatal("it stays for good")
		}
	}},
	{"deleting a board frees what only it referred to", func(t *testing.T, r *rig) {
		r.create()
		r.make(wire.CreateBoard{Board: "other"})
		mine, shared := r.put("mine"), r.put("shared")
		r.wrote(r.s.WriteLevel(r.ctx, by("w"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Blobs: []id.Digest{mine, shared, mine}}))
		r.wrote(r.s.WriteLevel(r.ctx, by("w"), "other", wire.LevelWrite{Region: "facts", Content: raw(`1`), Blobs: []id.Digest{shared}}))
		r.ok(r.s.Delete(r.ctx, by("a"), name))
		r.clock.move(time.Hour)
		r.collect(r.clock.now())
		if r.has(mine) || !r.has(shared) {
			t.Fatalf("mine %v, shared %v", r.has(mine), r.has(shared))
		}
		r.ok(r.s.Delete(r.ctx, by("a"), "other"))
		r.collect(r.clock.now())
		if r.has(shared) {
			t.Fatal("the last board that referred to it is gone and it stays")
		}
	}},
	{"a value is not collected from under a write that was told it is there", func(t *testing.T, r *rig) {
		r.create()
		d := r.put("x")
		r.clock.move(time.Hour)
		tx, facts, err := r.store.Begin(r.ctx, []board.Want{{Ref: ref, Blobs: []id.Digest{d, id.Digest(hex.EncodeToString(make([]byte, 32)))}}})
		r.ok(err)
		defer tx.Rollback()
		if size, ok := facts[0].Blobs[d]; !ok || size != 1 || len(facts[0].Blobs) != 1 {
			t.Fatalf("%+v", facts[0].Blobs)
		}
		done := make(chan struct{})
		go func() { defer close(done); r.collect(r.clock.now()) }()
		st := board.NewState(ref, facts[0])
		_, err = st.WriteLevel(board.Env{Now: tx.Now(), Salt: func() []byte { return make([]byte, 16) }, NewID: id.New}, "w",
			wire.LevelWrite{Region: "facts", Content: raw(`1`), Blobs: []id.Digest{d}}, board.Verdict{})
		r.ok(err)
		c, _ := st.Take()
		r.ok(tx.Apply(r.ctx, board.Changes{Boards: []board.Change{c}}))
		r.ok(tx.Commit(r.ctx))
		<-done
		if !r.has(d) {
			t.Fatal("an entry refers to a value that is gone")
		}
	}},
}
