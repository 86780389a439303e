package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/wire"
)

// childVar makes the test binary a writer: it appends to a board for as long as it
// lives and says each sequence number once the commit was answered.
const childVar = "SLATE_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVar); path != "" {
		if err := child(path, os.Args[1]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(path, writes string) error {
	limit, err := strconv.Atoi(writes)
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	ref := id.Ref{Tenant: "bench", Board: "a"}
	for n := 0; limit == 0 || n < limit; n++ {
		tx, facts, err := s.Begin(ctx, []board.Want{{Ref: ref}})
		if err != nil {
			return err
		}
		seq, err := appendOne(tx, facts[0], fmt.Sprintf("%d-%d", os.Getpid(), n))
		if err != nil {
			return err
		}
		fmt.Println(seq)
	}
	return s.Close()
}

// appendOne appends the next entry to both the record and the region's row.
func appendOne(tx board.Tx, f board.Facts, key string) (id.Seq, error) {
	defer tx.Rollback()
	row, reg := f.Row, f.Regions[0]
	row.Rev++
	row.Head++
	reg.Last, reg.Count = row.Head, int64(row.Head)
	entry := board.Entry{Salt: payload[:16], Entry: wire.Entry{Seq: row.Head, Region: "notes", Kind: wire.Level, Key: key,
		Content: payload, Digest: benchDigest}}
	change := board.Change{Row: row, Regions: []board.Region{reg}, Entries: []board.Entry{entry}}
	if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{change}}); err != nil {
		return 0, err
	}
	return row.Head, tx.Commit(ctx)
}

func writer(t *testing.T, path string, writes int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], strconv.Itoa(writes))
	cmd.Env = append(os.Environ(), childVar+"="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// contiguous checks that the record has no gap, that the rows agree with it, and
// returns the head.
func contiguous(t *testing.T, s *sqlite.Store) id.Seq {
	t.Helper()
	ref := id.Ref{Tenant: "bench", Board: "a"}
	var after id.Seq
	for {
		entries, head, err := s.Entries(ctx, ref, board.EntryQuery{After: after, Limit: 1000})
		must(t, err)
		for _, e := range entries {
			if e.Seq != after+1 {
				t.Fatalf("entry %d follows entry %d", e.Seq, after)
			}
			after = e.Seq
		}
		if len(entries) == 0 {
			f, err := s.Look(ctx, board.Want{Ref: ref})
			must(t, err)
			if f.Row.Head != after || head != after || f.Regions[0].Last != after || f.Row.Rev != int64(after)+1 {
				t.Fatalf("the record ends at %d, the rows say %+v %+v", after, f.Row, f.Regions[0])
			}
			return after
		}
	}
}

func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slate.db")
	s := open(t, path, sqlite.Options{})
	newBench(t, s, "a")
	must(t, s.Close())
	for round := range 12 {
		cmd, lines := writer(t, path, 0)
		acknowledged := id.Seq(0)
		for n := 0; n < 1+round*7 && lines.Scan(); n++ {
			acknowledged = seqOf(t, lines.Text())
		}
		must(t, cmd.Process.Kill())
		// What it still said before it died counts as well.
		for lines.Scan() {
			if seq, err := strconv.Atoi(lines.Text()); err == nil {
				acknowledged = id.Seq(seq)
			}
		}
		cmd.Wait()
		s := open(t, path, sqlite.Options{})
		if head := contiguous(t, s); head < acknowledged {
			t.Fatalf("entry %d was acknowledged, the record ends at %d", acknowledged, head)
		}
		must(t, s.Close())
		check(t, path)
	}
}

func TestTwoProcessesOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slate.db")
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	newBench(t, s, "a")
	const each = 60
	one, oneLines := writer(t, path, each)
	two, twoLines := writer(t, path, each)
	seen := map[id.Seq]bool{}
	for n := range each {
		tx, facts, err := s.Begin(ctx, []board.Want{{Ref: id.Ref{Tenant: "bench", Board: "a"}}})
		must(t, err)
		seq, err := appendOne(tx, facts[0], fmt.Sprint("here-", n))
		must(t, err)
		seen[seq] = true
	}
	for oneLines.Scan() {
		seen[seqOf(t, oneLines.Text())] = true
	}
	for twoLines.Scan() {
		seen[seqOf(t, twoLines.Text())] = true
	}
	must(t, one.Wait())
	must(t, two.Wait())
	if head := contiguous(t, s); head != 3*each || len(seen) != 3*each {
		t.Errorf("%d entries, %d acknowledged", head, len(seen))
	}
}

func TestProcessesThatMakeOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slate.db")
	ids := make(chan string, 4)
	for range cap(ids) {
		go func() {
			s, err := sqlite.Open(ctx, path, sqlite.Options{})
			if err != nil {
				ids <- err.Error()
				return
			}
			defer s.Close()
			info, err := s.Info(ctx)
			ids <- fmt.Sprint(info.Identity, err)
		}()
	}
	first := <-ids
	for range cap(ids) - 1 {
		if next := <-ids; next != first || strings.Contains(next, " ") {
			t.Errorf("%s and %s", first, next)
		}
	}
}

func seqOf(t *testing.T, line string) id.Seq {
	t.Helper()
	seq, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the writer says %q", line)
	}
	return id.Seq(seq)
}
