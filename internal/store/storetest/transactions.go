package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

var transactionTests = []test{
	{name: "a store has an identity, an epoch and says what it survives", run: func(s *suite) {
		info, err := s.s.Info(s.ctx)
		s.ok(err)
		if len(info.Identity) != 36 || info.Epoch != 1 || info.Durable == "" {
			s.Fatalf("%+v", info)
		}
	}},
	{name: "two stores differ in identity", run: func(s *suite) {
		other := s.f.Open(s.T, s.clock.Now)
		defer other.Close()
		a, err := s.s.Info(s.ctx)
		s.ok(err)
		b, err := other.Info(s.ctx)
		s.ok(err)
		if a.Identity == b.Identity {
			s.Fatal("both are ", a.Identity)
		}
	}},
	{name: "facts of a board that does not exist are not found", run: func(s *suite) {
		tx, facts := s.begin(ref("none"))
		defer tx.Rollback()
		s.same("facts", facts, []board.Facts{{}})
		s.same("look", s.look(board.Want{Ref: ref("none")}), board.Facts{})
	}},
	{name: "facts come in the order of the wants", run: func(s *suite) {
		s.create(ref("b"))
		s.create(ref("a"))
		tx, facts := s.begin(ref("b"), ref("none"), ref("a"))
		defer tx.Rollback()
		if !facts[0].Found || facts[1].Found || !facts[2].Found ||
			facts[0].Row.Ref != ref("b") || facts[2].Row.Ref != ref("a") {
			s.Fatalf("%+v", facts)
		}
	}},
	{name: "a board wanted twice gives its facts twice", run: func(s *suite) {
		row := s.write(s.create(ref("a")), s.level(1))
		tx, facts, err := s.s.Begin(s.ctx, []board.Want{{Ref: ref("a"), Shared: true, Entries: []id.Seq{1}}, {Ref: ref("a")}})
		s.ok(err)
		defer tx.Rollback()
		if len(facts[0].Entries) != 1 || facts[1].Row.Ref != ref("a") {
			s.Fatalf("%+v", facts)
		}
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: advance(row)}}}))
	}},
	{name: "a transaction may want no board", run: func(s *suite) {
		tx, facts := s.begin()
		s.same("facts", len(facts), 0)
		s.ok(tx.Apply(s.ctx, board.Changes{CollectBlobs: s.instant(0)}))
		s.ok(tx.Commit(s.ctx))
	}},
	{name: "what a transaction applied is not seen before it commits", run: func(s *suite) {
		row := s.create(ref("a"))
		tx, _ := s.begin(ref("a"))
		row = advance(row, s.level(1))
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: row, Entries: []board.Entry{s.level(1)}}}}))
		if f := s.look(board.Want{Ref: ref("a")}); f.Row.Head != 0 {
			s.Fatalf("a reader sees %+v", f.Row)
		}
		if entries, head := s.read(ref("a"), board.EntryQuery{}); len(entries) != 0 || head != 0 {
			s.Fatalf("a reader sees %v up to %d", entries, head)
		}
		s.ok(tx.Commit(s.ctx))
		if f := s.look(board.Want{Ref: ref("a")}); f.Row.Head != 1 || f.Row.Rev != 2 {
			s.Fatalf("after the commit: %+v", f.Row)
		}
		if entries, head := s.read(ref("a"), board.EntryQuery{}); len(entries) != 1 || head != 1 {
			s.Fatalf("after the commit: %v up to %d", entries, head)
		}
	}},
	{name: "a rollback keeps nothing and releases the locks", run: func(s *suite) {
		row := s.create(ref("a"))
		before := s.look(board.Want{Ref: ref("a")})
		tx, _ := s.begin(ref("a"), ref("b"))
		changes := board.Changes{
			Boards: []board.Change{
				{Row: advance(row, s.level(1)), Entries: []board.Entry{s.level(1)},
					Agents: []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x"}}}},
				{Row: board.Row{Ref: ref("b"), Rev: 1}, Create: true},
			},
			Blobs: []board.TenantBlob{{Tenant: "acme", Blob: board.Blob{Digest: digest("v"), Content: []byte("v")}}},
		}
		s.ok(tx.Apply(s.ctx, changes))
		s.ok(tx.Rollback())
		s.same("the board", s.look(board.Want{Ref: ref("a")}), before)
		if s.look(board.Want{Ref: ref("b")}).Found {
			s.Fatal("the board was made")
		}
		blob, err := s.s.Blob(s.ctx, "acme", digest("v"))
		s.ok(err)
		if blob != nil {
			s.Fatal("the blob was stored")
		}
		s.write(row, s.level(1))
	}},
	{name: "a rollback after a commit does nothing", run: func(s *suite) {
		row := s.create(ref("a"))
		tx, _ := s.begin(ref("a"))
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: advance(row)}}}))
		s.ok(tx.Commit(s.ctx))
		s.ok(tx.Rollback())
		s.ok(tx.Rollback())
		if f := s.look(board.Want{Ref: ref("a")}); f.Row.Rev != 2 {
			s.Fatalf("%+v", f.Row)
		}
	}},
	{name: "a transaction that ended is not usable", run: func(s *suite) {
		tx, _ := s.begin(ref("a"))
		s.ok(tx.Rollback())
		if tx.Apply(s.ctx, board.Changes{}) == nil || tx.Commit(s.ctx) == nil {
			s.Fatal("it was")
		}
		if _, err := tx.More(s.ctx, []board.Want{{Ref: ref("a")}}); err == nil {
			s.Fatal("it was")
		}
	}},
	{name: "all of a commit is kept or, when part of it cannot be, nothing", run: func(s *suite) {
		row := s.create(ref("a"))
		err := s.try(board.Changes{Boards: []board.Change{
			{Row: advance(row, s.level(1)), Entries: []board.Entry{s.level(1)}},
			{Row: board.Row{Ref: ref("none"), Rev: 2}}, // not created
		}})
		if err == nil {
			s.Fatal("a board that does not exist was changed")
		}
		if f := s.look(board.Want{Ref: ref("a")}); f.Row.Rev != 1 || f.Row.Head != 0 {
			s.Fatalf("%+v", f.Row)
		}
	}},
	{name: "after a failed apply nothing of the transaction is kept", run: func(s *suite) {
		row := s.create(ref("a"))
		e := s.level(1)
		for _, bad := range []board.Change{
			{Row: board.Row{Ref: ref("not held"), Rev: 1}, Create: true},
			{Row: advance(row, e), Entries: []board.Entry{e, e}},
		} {
			tx, _ := s.begin(ref("a"))
			good := board.Change{Row: advance(row)}
			err := tx.Apply(s.ctx, board.Changes{Boards: []board.Change{good, bad}})
			if committed := tx.Commit(s.ctx); err == nil && committed == nil {
				s.Error("applied and committed")
			} else if committed == nil {
				s.Error("committed after ", err)
			}
			if f := s.look(board.Want{Ref: ref("a")}); f.Row.Rev != 1 || f.Row.Head != 0 {
				s.Fatalf("%+v", f.Row)
			}
		}
		s.write(row, e)
	}},
	{name: "a board that is not held or only shared cannot be written", run: func(s *suite) {
		row := s.create(ref("a"))
		tx, _ := s.begin(ref("b"))
		if err := tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: advance(row)}}}); err == nil {
			s.Error("a board that is not held was written")
		}
		if _, err := tx.More(s.ctx, []board.Want{{Ref: ref("a")}}); err == nil {
			s.Error("a board that is not held was read")
		}
		if _, _, err := tx.Entries(s.ctx, ref("a"), board.EntryQuery{Limit: 1}); err == nil {
			s.Error("a board that is not held was read")
		}
		s.ok(tx.Rollback())
		tx, _, err := s.s.Begin(s.ctx, []board.Want{{Ref: ref("a"), Shared: true}})
		s.ok(err)
		if err := tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: advance(row)}}}); err == nil {
			s.Error("a shared board was written")
		}
		s.ok(tx.Rollback())
	}},
	{name: "a key or a sequence number is written once", run: func(s *suite) {
		row := s.create(ref("a"))
		first := s.level(1)
		first.Key = "k"
		row = s.write(row, first)
		again := s.level(2)
		again.Key = "k"
		if s.try(board.Changes{Boards: []board.Change{{Row: advance(row, again), Entries: []board.Entry{again}}}}) == nil {
			s.Error("the key was written twice")
		}
		if s.try(board.Changes{Boards: []board.Change{{Row: advance(row), Entries: []board.Entry{s.level(1)}}}}) == nil {
			s.Error("the sequence number was written twice")
		}
		twice := []board.Entry{again, s.level(3)}
		twice[0].Key, twice[1].Key = "m", "m"
		if s.try(board.Changes{Boards: []board.Change{{Row: advance(row, twice...), Entries: twice}}}) == nil {
			s.Error("the key was written twice in one transaction")
		}
		s.write(row, s.level(2), s.level(3))
	}},
	{name: "now is the clock in UTC and whole microseconds, read after the locks", run: func(s *suite) {
		tx, _ := s.begin(ref("a"))
		want := time.Date(2026, 3, 4, 2, 6, 7, 123456000, time.UTC)
		if now := tx.Now(); !now.Equal(want) || now.Location() != time.UTC {
			s.Fatalf("now is %v", now)
		}
		reads := s.clock.Reads()
		began := make(chan board.Tx)
		go func() {
			second, _, err := s.s.Begin(s.ctx, []board.Want{{Ref: ref("a")}})
			if err != nil {
				s.Error(err)
			}
			began <- second
		}()
		// Whatever the other does meanwhile, its clock is the one after this.
		s.clock.Advance(time.Minute)
		if s.clock.Reads() != reads {
			s.Error("the clock was read before the lock was taken")
		}
		s.ok(tx.Rollback())
		second := <-began
		if now := second.Now(); !now.Equal(want.Add(time.Minute)) {
			s.Errorf("now is %v", now)
		}
		s.ok(second.Rollback())
	}},
	{name: "a call whose context has ended does nothing", run: func(s *suite) {
		s.create(ref("a"))
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		if _, _, err := s.s.Begin(ctx, []board.Want{{Ref: ref("a")}}); !errors.Is(err, context.Canceled) {
			s.Errorf("begin: %v", err)
		}
		if _, err := s.s.Look(ctx, board.Want{Ref: ref("a")}); !errors.Is(err, context.Canceled) {
			s.Errorf("look: %v", err)
		}
		s.create(ref("b"))
	}},
	{name: "a running transaction is not stopped by its context", run: func(s *suite) {
		row := s.create(ref("a"))
		ctx, cancel := context.WithCancel(s.ctx)
		tx, _, err := s.s.Begin(ctx, []board.Want{{Ref: ref("a")}})
		s.ok(err)
		cancel()
		row = advance(row, s.level(1))
		s.ok(tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row, Entries: []board.Entry{s.level(1)}}}}))
		s.ok(tx.Commit(ctx))
		if f := s.look(board.Want{Ref: ref("a")}); f.Row.Head != 1 {
			s.Fatalf("%+v", f.Row)
		}
	}},
	{name: "more reads further facts of a board that is held", run: func(s *suite) {
		s.write(s.create(ref("a")), s.level(1))
		tx, facts, err := s.s.Begin(s.ctx, []board.Want{{Ref: ref("a"), Have: 2}})
		s.ok(err)
		defer tx.Rollback()
		if !facts[0].Same || len(facts[0].Regions) != 0 {
			s.Fatalf("%+v", facts[0])
		}
		more, err := tx.More(s.ctx, []board.Want{{Ref: ref("a"), Entries: []id.Seq{1, 2}}})
		s.ok(err)
		if len(more[0].Regions) != 2 || len(more[0].Entries) != 1 {
			s.Fatalf("%+v", more)
		}
		entries, head, err := tx.Entries(s.ctx, ref("a"), board.EntryQuery{Limit: 5})
		s.ok(err)
		s.same("entries", seqs(entries), []id.Seq{1})
		s.same("head", head, id.Seq(1))
	}},
}
