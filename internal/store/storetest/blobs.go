package storetest

import (
	"bytes"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/wire"
)

var blobTests = []test{
	{name: "a blob comes back under its tenant and digest", run: func(s *suite) {
		large := string(bytes.Repeat([]byte{0, 1, 2, 3}, 1<<19))
		for _, value := range []string{"v", large, ""} {
			s.blob(value)
			got, err := s.s.Blob(s.ctx, "acme", digest(value))
			s.ok(err)
			if got == nil || string(got) != value {
				s.Errorf("%d bytes came back as %d", len(value), len(got))
			}
		}
		for _, tenant := range []id.Tenant{"other", ""} {
			if got, err := s.s.Blob(s.ctx, tenant, digest("v")); err != nil || got != nil {
				s.Errorf("%q has %q, %v", tenant, got, err)
			}
		}
	}},
	{name: "wanted blobs that exist are given with their size", run: func(s *suite) {
		s.blob("value")
		want := board.Want{Ref: ref("none"), Blobs: []id.Digest{digest("value"), digest("other")}}
		s.same("of a board that does not exist", s.look(want).Blobs, map[id.Digest]int64{digest("value"): 5})
		s.create(ref("a"))
		want.Ref, want.Have = ref("a"), 1
		f := s.look(want)
		s.same("of one that is the same", f.Blobs, map[id.Digest]int64{digest("value"): 5})
		if !f.Same {
			s.Error("not the same")
		}
	}},
	{name: "an entry cannot refer to a blob that is not there", run: func(s *suite) {
		row := s.create(ref("a"))
		e := s.level(1)
		e.Blobs = []id.Digest{digest("none")}
		if s.try(board.Changes{Boards: []board.Change{{Row: advance(row, e), Entries: []board.Entry{e}}}}) == nil {
			s.Fatal("it does")
		}
	}},
	{name: "a blob and the entry that refers to it are written together", run: func(s *suite) {
		row := s.create(ref("a"))
		e := s.level(1)
		e.Blobs = []id.Digest{digest("v")}
		s.apply(board.Changes{Blobs: []board.TenantBlob{tenantBlob("v")},
			Boards: []board.Change{{Row: advance(row, e), Entries: []board.Entry{e}}}})
		got, _ := s.read(ref("a"), board.EntryQuery{})
		s.same("blobs", got[0].Blobs, e.Blobs)
	}},
	{name: "collecting removes what nothing refers to and was put before the instant", run: func(s *suite) {
		s.blob("old")
		s.blob("referred")
		s.blob("renewed")
		s.blob("definition")
		e := s.level(1)
		e.Blobs = []id.Digest{digest("referred"), digest("referred")}
		s.write(s.create(ref("a")), e)
		s.applyMachine(store.MachineChange{Ref: ref("a"), Digest: digest("definition")})
		put := s.now()
		s.clock.Advance(1000000000)
		s.blob("renewed")
		s.blob("new")
		s.collect(put) // put at this instant, not before it
		s.has("old", "referred", "renewed", "definition", "new")
		s.collect(put.Add(1000000))
		s.has("referred", "renewed", "definition", "new")
		s.collect(put.Add(2000000000))
		s.has("referred", "definition")
	}},
	{name: "an erased entry refers to no blob any more", run: func(s *suite) {
		s.blob("v")
		e := s.level(1)
		e.Blobs = []id.Digest{digest("v")}
		row := s.write(s.create(ref("a")), e)
		row.Rev++
		s.change(board.Change{Row: row, Erase: []board.Tombstone{{Seq: 1, Erasure: wire.Erasure{At: s.instant(1), By: "x"}}}})
		got, _ := s.read(ref("a"), board.EntryQuery{})
		s.same("blobs", got[0].Blobs, []id.Digest(nil))
		s.collect(s.now().Add(1e12))
		s.has()
	}},
	{name: "a blob whose last entry went with its board is collected later", run: func(s *suite) {
		s.blob("v")
		s.full(ref("a"))
		s.full(ref("b"))
		far := s.now().Add(1e12)
		s.change(board.Change{Row: board.Row{Ref: ref("a")}, Delete: true})
		s.collect(far)
		s.has("v")
		s.change(board.Change{Row: board.Row{Ref: ref("b")}, Delete: true})
		s.has("v")
		s.collect(far)
		s.has()
	}},
	{name: "a machine that moves to another definition lets the first one go", run: func(s *suite) {
		s.blob("first")
		s.blob("second")
		s.create(ref("a"))
		s.applyMachine(store.MachineChange{Ref: ref("a"), Digest: digest("first")})
		s.applyMachine(store.MachineChange{Ref: ref("a"), Digest: digest("second")})
		s.applyMachine(store.MachineChange{Ref: ref("a"), Digest: digest("second")})
		s.collect(s.now().Add(1e12))
		s.has("second")
	}},
	{name: "a blob that a transaction was told of is there when it commits", run: func(s *suite) {
		s.blob("v")
		row := s.create(ref("a"))
		tx, facts, err := s.s.Begin(s.ctx, []board.Want{{Ref: ref("a"), Blobs: []id.Digest{digest("v")}}})
		s.ok(err)
		s.same("blobs", len(facts[0].Blobs), 1)
		done := make(chan error, 1)
		far := tx.Now().Add(1e12)
		go func() {
			done <- func() error {
				tx, _, err := s.s.Begin(s.ctx, nil)
				if err != nil {
					return err
				}
				if err := tx.Apply(s.ctx, board.Changes{CollectBlobs: far}); err != nil {
					return err
				}
				return tx.Commit(s.ctx)
			}()
		}()
		e := s.level(1)
		e.Blobs = []id.Digest{digest("v")}
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: advance(row, e), Entries: []board.Entry{e}}}}))
		s.ok(tx.Commit(s.ctx))
		s.ok(<-done)
		s.has("v")
	}},
}

func tenantBlob(value string) board.TenantBlob {
	return board.TenantBlob{Tenant: "acme", Blob: board.Blob{Digest: digest(value), Content: []byte(value)}}
}

// blob stores a value.
func (s *suite) blob(value string) {
	s.Helper()
	s.apply(board.Changes{Blobs: []board.TenantBlob{tenantBlob(value)}})
}

// has fails the test unless exactly these of the suite's values are stored.
func (s *suite) has(values ...string) {
	s.Helper()
	want := map[string]bool{}
	for _, v := range values {
		want[v] = true
	}
	for _, v := range []string{"old", "referred", "renewed", "definition", "new", "v", "first", "second"} {
		got, err := s.s.Blob(s.ctx, "acme", digest(v))
		s.ok(err)
		if (got != nil) != want[v] {
			s.Fatalf("blob %q is there: %v", v, got != nil)
		}
	}
}

// now is the store's clock.
func (s *suite) now() time.Time {
	s.Helper()
	tx, _ := s.begin()
	defer tx.Rollback()
	return tx.Now()
}

// collect collects what was put before an instant.
func (s *suite) collect(before time.Time) {
	s.Helper()
	s.apply(board.Changes{CollectBlobs: before})
}
