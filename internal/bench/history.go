package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/wire"
)

// stored is a system with a history: a board that one caller writes, and for the
// stores with a crowd, its boards.
type stored struct {
	one   *levelWriter
	crowd *crowd
	// hot are many callers on the one board, where the store has such a figure.
	hot *crowd
	// cursor is in the middle of the board's record.
	cursor string
	close  func()
}

// kindOfStore is one of the stores that history is measured on.
type kindOfStore struct {
	name string
	// open opens a store with nothing in it.
	open func(b *bench, n int) (board.Store, func(), error)
	// agents, boards, writers and hot say what there is beside the one caller's board.
	agents, boards, writers, hot int
	woken                        bool
}

// historyRows measure the cost of what is measured above, and of reading, when a
// million contributions are stored.
func historyRows(b *bench) error {
	var server *pgtest.Server
	kinds := []kindOfStore{
		{name: "in memory", agents: 10, open: func(*bench, int) (board.Store, func(), error) {
			st := memory.New(memory.Options{})
			return st, func() { st.Close() }, nil
		}},
		{name: "SQLite", boards: 8, writers: 64, woken: true, open: func(b *bench, n int) (board.Store, func(), error) {
			st, err := sqlite.Open(b.ctx, filepath.Join(b.dir, fmt.Sprintf("history-%d.db", n)), sqlite.Options{})
			return st, func() { st.Close() }, err
		}},
		{name: "PostgreSQL", boards: pgWriters, writers: pgWriters, hot: pgWriters, open: func(b *bench, n int) (board.Store, func(), error) {
			if server == nil {
				var err error
				if server, err = b.pgServer(); err != nil {
					return nil, nil, err
				}
			}
			return b.bareStore(server)
		}},
	}
	for _, k := range kinds {
		if err := b.history(k); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// history measures one kind of store.
func (b *bench) history(k kindOfStore) error {
	const small = 1000
	large := 1_000_000
	if b.quick {
		large = 50_000
	}
	opened := 0
	build := func(n int) (*stored, error) {
		opened++
		return b.stored(k, opened, n)
	}
	old, err := build(large)
	if err != nil {
		return err
	}
	defer old.close()
	young, err := build(small)
	if err != nil {
		return err
	}
	defer func() { young.close() }()
	// Writing makes a short history long, so that every round of writes has a new one.
	anew := func(write func(s *stored) side) side {
		return func(n int) (time.Duration, error) {
			young.close()
			var err error
			if young, err = build(small); err != nil {
				return 0, err
			}
			if _, err := write(young)(n/10 + 1); err != nil { // statements are prepared
				return 0, err
			}
			return write(young)(n)
		}
	}
	row := func(what string, rounds, n int, young, old side) error {
		ns, err := b.turns(rounds, n, old, young)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		ratio := ns[0].over(ns[1])
		b.add(row{what: fmt.Sprintf("%s, %s, with %s contributions stored", what, k.name, whole(float64(large))),
			target: "≤ 1.2 × with 1,000", result: micros(ns[0]), floor: micros(ns[1]), ratio: times(ratio), met: ratio.median() <= 1.2})
		return nil
	}
	one := func(s *stored) side { return timed(s.one.write) }
	n := map[bool]int{true: 2000, false: 100}[k.boards == 0]
	if err := row("a level write by one caller", 21, n, anew(one), one(old)); err != nil {
		return err
	}
	if k.boards > 0 {
		many := func(s *stored) side { return s.crowd.side() }
		what := fmt.Sprintf("a level write by %d callers on %d boards", k.writers, k.boards)
		if err := row(what, 15, 1920, anew(many), many(old)); err != nil {
			return err
		}
	}
	if k.hot > 0 {
		hot := func(s *stored) side { return s.hot.side() }
		if err := row(fmt.Sprintf("a level write by %d callers on one board", k.hot), 15, 1920, anew(hot), hot(old)); err != nil {
			return err
		}
	}
	premiseOf := func(s func() *stored) side { return timed(func() error { return readPremise(b, s()) }) }
	changesOf := func(s func() *stored) side { return timed(func() error { return readChanges(b, s()) }) }
	of := func(s *stored) func() *stored { return func() *stored { return s } }
	if err := row("reading a premise", 51, 200, premiseOf(of(young)), premiseOf(of(old))); err != nil {
		return err
	}
	return row("reading 100 changes after a cursor", 51, 100, changesOf(of(young)), changesOf(of(old)))
}

func readPremise(b *bench, s *stored) error {
	p, err := s.one.b.Premise(b.ctx, premise)
	if err == nil && p.Version != 1 {
		err = fmt.Errorf("premise at version %d", p.Version)
	}
	return err
}

func readChanges(b *bench, s *stored) error {
	page, err := s.one.b.Changes(b.ctx, wire.Page{Cursor: s.cursor, Limit: 100})
	if err == nil && len(page.Entries) != 100 {
		err = fmt.Errorf("%d changes", len(page.Entries))
	}
	return err
}

// stored makes a system with n contributions, half of them on the one caller's board
// where there is a crowd. Its premise was written before all of them.
func (b *bench) stored(k kindOfStore, number, n int) (*stored, error) {
	st, closeStore, err := k.open(b, number)
	if err != nil {
		return nil, err
	}
	sys, err := slate.New(b.ctx, st, slate.Options{})
	if err != nil {
		return nil, err
	}
	s := &stored{close: func() { sys.Close(); closeStore() }}
	handle, err := makeBoard(b.ctx, sys, "one", boardSpec{agents: k.agents})
	if err != nil {
		return nil, err
	}
	if err := (&premiseWriter{ctx: b.ctx, b: handle}).write(); err != nil {
		return nil, err
	}
	s.one = &levelWriter{ctx: b.ctx, b: handle, keys: k.boards > 0}
	parts := map[id.Board]int{"one": n}
	if k.boards > 0 {
		parts["one"] = n / 2
		s.crowd = &crowd{}
		spec := boardSpec{}
		if k.woken {
			spec = woken(&s.crowd.told)
		}
		if err := s.crowd.join(b.ctx, sys, "b", k.boards, k.writers, spec); err != nil {
			return nil, err
		}
		for i := range k.boards {
			parts[boardName("b", i)] = n / 2 / k.boards
		}
	}
	if k.hot > 0 {
		s.hot = &crowd{}
		for i := range k.hot {
			s.hot.writers = append(s.hot.writers, &levelWriter{ctx: b.ctx, b: handle, caller: int64(i + 1), keys: true})
		}
	}
	for name, part := range parts {
		if err := fill(b.ctx, st, id.Ref{Tenant: id.DefaultTenant, Board: name}, part); err != nil {
			return nil, err
		}
	}
	page, err := handle.Changes(b.ctx, wire.Page{Limit: 100})
	s.cursor = page.Next
	for at := 100; err == nil && at < min(parts["one"]/2, 400); at += 100 {
		page, err = handle.Changes(b.ctx, wire.Page{Cursor: s.cursor, Limit: 100})
		s.cursor = page.Next
	}
	return s, err
}
