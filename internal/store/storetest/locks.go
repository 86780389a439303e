package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

var lockTests = []test{
	{name: "two transactions on one board follow each other", run: func(s *suite) {
		s.create(ref("a"))
		const writers, each = 8, 20
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					if err := s.increment(s.ctx, ref("a"), fmt.Sprintf("%d/%d", w, i)); err != nil {
						s.Error(err)
					}
				}
			})
		}
		wg.Wait()
		entries, head := s.read(ref("a"), board.EntryQuery{Limit: 1000})
		if head != writers*each || len(entries) != writers*each {
			s.Fatalf("%d entries up to %d", len(entries), head)
		}
		for i, e := range entries {
			if e.Seq != id.Seq(i+1) {
				s.Fatalf("entry %d has sequence number %d", i+1, e.Seq)
			}
		}
	}},
	{name: "transactions on two boards run at the same time", needsNot: OneTransaction, run: func(s *suite) {
		one, _ := s.begin(ref("a"))
		two, _ := s.begin(ref("b"))
		s.ok(one.Rollback())
		s.ok(two.Rollback())
	}},
	{name: "transactions that share a board run at the same time", needsNot: SharedLocks, run: func(s *suite) {
		want := []board.Want{{Ref: ref("a"), Shared: true}}
		one, _, err := s.s.Begin(s.ctx, want)
		s.ok(err)
		two, _, err := s.s.Begin(s.ctx, want)
		s.ok(err)
		s.ok(one.Rollback())
		s.ok(two.Rollback())
	}},
	{name: "a shared lock and an exclusive one exclude each other", run: func(s *suite) {
		s.create(ref("a"))
		shared, _, err := s.s.Begin(s.ctx, []board.Want{{Ref: ref("a"), Shared: true}})
		s.ok(err)
		s.waits(board.Want{Ref: ref("a")})
		s.ok(shared.Rollback())
		exclusive, _ := s.begin(ref("a"))
		s.waits(board.Want{Ref: ref("a"), Shared: true})
		s.ok(exclusive.Rollback())
		again, _ := s.begin(ref("a"))
		s.ok(again.Rollback())
	}},
	{name: "a board that does not exist is locked by its name", run: func(s *suite) {
		tx, _ := s.begin(ref("new"))
		s.waits(board.Want{Ref: ref("new")})
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: board.Row{Ref: ref("new"), Rev: 1}, Create: true}}}))
		s.ok(tx.Commit(s.ctx))
		if !s.look(board.Want{Ref: ref("new")}).Found {
			s.Fatal("not made")
		}
	}},
	{name: "transactions that lock several boards cannot wait for each other", run: func(s *suite) {
		refs := []id.Ref{ref("a"), ref("b"), ref("c")}
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for i := range 20 {
					wants := []board.Want{{Ref: refs[(w+i)%3]}, {Ref: refs[(w+i+1)%3]}}
					tx, _, err := s.s.Begin(s.ctx, wants)
					if err != nil {
						s.Error(err)
						return
					}
					runtime.Gosched()
					if err := tx.Rollback(); err != nil {
						s.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}},
	{name: "waiting for a lock ends with the context and leaves nothing behind", run: func(s *suite) {
		s.create(ref("a"))
		tx, _ := s.begin(ref("a"))
		for range 3 {
			s.waits(board.Want{Ref: ref("a")})
		}
		s.ok(tx.Rollback())
		again, _ := s.begin(ref("a"))
		s.ok(again.Rollback())
	}},
	{name: "waiters whose contexts end at any moment never keep a lock", run: func(s *suite) {
		s.create(ref("a"))
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 40 {
					ctx, cancel := context.WithCancel(s.ctx)
					go func() {
						for range (w*7 + i) % 5 {
							runtime.Gosched()
						}
						cancel()
					}()
					err := s.increment(ctx, ref("a"), fmt.Sprintf("%d/%d", w, i))
					if err != nil && !errors.Is(err, context.Canceled) {
						s.Error(err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		tx, facts := s.begin(ref("a"))
		s.ok(tx.Rollback())
		entries, head := s.read(ref("a"), board.EntryQuery{Limit: 1000})
		if facts[0].Row.Head != head || len(entries) != int(head) {
			s.Fatalf("%d entries, head %d, row %+v", len(entries), head, facts[0].Row)
		}
	}},
	{name: "readers do not wait for a transaction", run: func(s *suite) {
		row := s.write(s.create(ref("a")), s.level(1))
		tx, _ := s.begin(ref("a"))
		s.ok(tx.Apply(s.ctx, board.Changes{
			Boards: []board.Change{{Row: advance(row, s.level(2)), Entries: []board.Entry{s.level(2)}}},
		}))
		if f := s.look(board.Want{Ref: ref("a"), Entries: []id.Seq{1, 2}}); f.Row.Head != 1 || len(f.Entries) != 1 {
			s.Errorf("%+v", f)
		}
		entries, _ := s.read(ref("a"), board.EntryQuery{})
		s.same("entries", seqs(entries), []id.Seq{1})
		if rows, err := s.s.Boards(s.ctx, board.BoardQuery{Tenant: "acme", Limit: 5}); err != nil || len(rows) != 1 {
			s.Errorf("%v %v", rows, err)
		}
		if _, err := s.s.Blob(s.ctx, "acme", digest("x")); err != nil {
			s.Error(err)
		}
		s.ok(tx.Commit(s.ctx))
	}},
	{name: "a reader polling by sequence number never skips one", run: func(s *suite) {
		s.create(ref("a"))
		const n = 60
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range n {
				if err := s.increment(s.ctx, ref("a"), fmt.Sprint(i)); err != nil {
					s.Error(err)
					return
				}
			}
		}()
		for after := id.Seq(0); after < n; {
			entries, head, err := s.s.Entries(s.ctx, ref("a"), board.EntryQuery{After: after, Limit: 7})
			s.ok(err)
			for _, e := range entries {
				if e.Seq != after+1 || e.Seq > head {
					s.Fatalf("entry %d after %d, head %d", e.Seq, after, head)
				}
				after = e.Seq
			}
			select {
			case <-done:
				if s.Failed() {
					return
				}
			default:
				runtime.Gosched()
			}
		}
		<-done
	}},
}

// increment appends the next entry to a board.
func (s *suite) increment(ctx context.Context, r id.Ref, key string) error {
	tx, facts, err := s.s.Begin(ctx, []board.Want{{Ref: r, Keys: []string{key}}})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	e := s.level(facts[0].Row.Head + 1)
	e.Key = key
	change := board.Change{Row: advance(facts[0].Row, e), Entries: []board.Entry{e}}
	if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{change}}); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// waits fails the test unless beginning with that want has to wait; it then gives
// up. A store that let it begin would answer before its context ends.
func (s *suite) waits(want board.Want) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	result := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		tx, _, err := s.s.Begin(ctx, []board.Want{want})
		if err == nil {
			tx.Rollback()
		}
		result <- err
	}()
	<-started
	for range 100 {
		runtime.Gosched()
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		s.Fatalf("begin did not wait: %v", err)
	}
}
