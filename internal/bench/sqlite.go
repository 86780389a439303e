package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/wire"
)

// sqliteOneRows measure one caller who writes durably to an SQLite file.
func sqliteOneRows(b *bench) error {
	sys, err := b.openSQLite("one")
	if err != nil {
		return err
	}
	one, err := makeBoard(b.ctx, sys, "b0", boardSpec{})
	if err != nil {
		return err
	}
	floor, err := b.rawSQLite("one-floor", 1, 1, boardSpec{})
	if err != nil {
		return err
	}
	w := &levelWriter{ctx: b.ctx, b: one, keys: true}
	ns, err := b.turns(401, 10, timed(w.write), timed(func() error { return floor.transaction(1, 0) }))
	if err != nil {
		return err
	}
	ratio := ns[0].over(ns[1])
	b.add(row{what: "level write, SQLite, one writer, durable, with a key", target: "≤ 1.4 × raw transaction",
		result: micros(ns[0]), floor: micros(ns[1]), ratio: times(ratio), met: ratio.median() <= 1.4})
	return nil
}

// sqliteManyRows measure many callers who do so at once.
func sqliteManyRows(b *bench) error {
	many, err := b.openSQLite("many")
	if err != nil {
		return err
	}
	c, err := newCrowd(b.ctx, many, 8, 64)
	if err != nil {
		return err
	}
	floor, err := b.rawSQLite("many-floor", 8, 8, woken(nil))
	if err != nil {
		return err
	}
	const writes = 6400
	ns, err := b.turns(25, writes, c.side(), func(n int) (time.Duration, error) {
		return floor.crowd(n, int(c.told.Swap(0)))
	})
	if err != nil {
		return err
	}
	ratio := ns[1].over(ns[0])
	b.add(row{what: "level writes, SQLite, 64 writers over 8 boards, durable, with keys, one agent woken a board",
		target: "≥ 0.6 × raw, 100 calls a transaction",
		result: rate(perSecond(ns[0])), floor: rate(perSecond(ns[1])), ratio: times(ratio), met: ratio.median() >= 0.6})
	return nil
}

// openSQLite opens a system on a new file, closed at the end of the group, and reads
// back how durable the connection is that writes it.
func (b *bench) openSQLite(name string) (*slate.System, error) {
	st, err := sqlite.Open(b.ctx, filepath.Join(b.dir, name+".db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	b.cleanup(func() { st.Close() })
	values, err := st.Settings(b.ctx, durability...)
	if err != nil {
		return nil, err
	}
	var said []string
	for _, name := range durability {
		said = append(said, name+"="+values[name])
	}
	b.setting("SQLite, Slate's connection", strings.Join(said, " "))
	sys, err := slate.New(b.ctx, st, slate.Options{})
	if err == nil {
		b.cleanup(func() { sys.Close() })
	}
	return sys, err
}

// woken is a board whose one agent is woken by its level; told counts the
// notifications.
func woken(told *atomic.Int64) boardSpec {
	return boardSpec{agents: 1, subscribes: wire.Only(level), notify: func(*slate.Board, string) board.Notifier {
		return func(context.Context, wire.Notification) error {
			told.Add(1)
			return nil
		}
	}}
}

// crowd is many writers on some boards.
type crowd struct {
	writers []*levelWriter
	// told counts the notifications that agents were sent.
	told atomic.Int64
}

// newCrowd makes boards with an agent that every write wakes, and writers that each
// keep to one of them.
func newCrowd(ctx context.Context, sys *slate.System, boards, writers int) (*crowd, error) {
	c := &crowd{}
	return c, c.join(ctx, sys, "b", boards, writers, woken(&c.told))
}

func (c *crowd) join(ctx context.Context, sys *slate.System, prefix string, boards, writers int, spec boardSpec) error {
	for i := range boards {
		b, err := makeBoard(ctx, sys, boardName(prefix, i), spec)
		if err != nil {
			return err
		}
		for j := i; j < writers; j += boards {
			c.writers = append(c.writers, &levelWriter{ctx: ctx, b: b, caller: int64(j), keys: true})
		}
	}
	return nil
}

func boardName(prefix string, i int) id.Board { return id.Board(fmt.Sprintf("%s%d", prefix, i)) }

// side shares n writes among the writers, all at once.
func (c *crowd) side() side {
	return func(n int) (time.Duration, error) {
		var left atomic.Int64
		left.Store(int64(n))
		return together(len(c.writers), func(i int) error {
			for left.Add(-1) >= 0 {
				if err := c.writers[i].write(); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// together runs n callers at once and returns how long all of them took.
func together(n int, caller func(i int) error) (time.Duration, error) {
	errs := make([]error, n)
	var wg sync.WaitGroup
	begun := time.Now()
	for i := range n {
		wg.Go(func() { errs[i] = caller(i) })
	}
	wg.Wait()
	return time.Since(begun), errors.Join(errs...)
}
