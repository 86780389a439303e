package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// latencyRows measure how soon an agent hears of a write, at a rate of writes that
// does not wait for anybody.
func latencyRows(b *bench) error {
	mem, err := slate.Memory(b.ctx, slate.Options{})
	if err != nil {
		return err
	}
	b.cleanup(func() { mem.Close() })
	file, err := b.openSQLite("latency")
	if err != nil {
		return err
	}
	for _, s := range []struct {
		store string
		sys   *slate.System
	}{{"in memory", mem}, {"SQLite", file}} {
		for _, boards := range []int{8, 1} {
			waits, err := b.told(s.sys, boards)
			if err != nil {
				return err
			}
			p99 := waits.at(0.99)
			b.add(row{what: fmt.Sprintf("call → notification callback, %s, 1,000 writes/s on %s", s.store, plural(boards, "board")),
				target: "p99 ≤ 2 ms", met: p99 <= 2e6,
				result: fmt.Sprintf("p99 %s ms (p50 %s, p99.9 %s, most %s)", short(p99*1e-6), short(waits.median()*1e-6),
					short(waits.at(0.999)*1e-6), short(waits.at(1)*1e-6))})
		}
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// call is one write of the generator, and heard one notification of its board.
type call struct {
	seq  id.Seq
	made time.Time
}

type heard struct {
	to id.Seq
	at time.Time
}

// told makes writes at a fixed rate, each on a goroutine of its own, on boards with
// one agent each that every write wakes. It returns how long it took from each call
// to the start of the first callback whose range holds what the call wrote: the
// commit lies in between, so this is more than from the commit.
func (b *bench) told(sys *slate.System, boards int) (figures, error) {
	seconds := 20
	if b.quick {
		seconds = 3
	}
	const every = time.Millisecond
	var mu sync.Mutex
	notified := make([][]heard, boards)
	all := make([]*slate.Board, boards)
	for i := range all {
		var err error
		all[i], err = makeBoard(b.ctx, sys, id.Board(fmt.Sprintf("of-%d-b%d", boards, i)), boardSpec{agents: 1, subscribes: wire.Only(level),
			notify: func(*slate.Board, string) board.Notifier {
				return func(_ context.Context, n wire.Notification) error {
					at := time.Now()
					mu.Lock()
					notified[i] = append(notified[i], heard{n.To, at})
					mu.Unlock()
					return nil
				}
			}})
		if err != nil {
			return nil, err
		}
	}
	calls := make([][]call, boards)
	var failed error
	var wg sync.WaitGroup
	begun := time.Now()
	for i := range seconds * int(time.Second/every) {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * every)))
		to := i % boards
		wg.Go(func() {
			made := time.Now()
			r, err := all[to].WriteLevel(b.ctx, writer, wire.LevelWrite{Region: level, Content: payload})
			mu.Lock()
			defer mu.Unlock()
			if err = written(r, err); err != nil {
				failed = err
				return
			}
			calls[to] = append(calls[to], call{r.Written.Seq, made})
		})
	}
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	var waits figures
	for i := range all {
		slices.SortFunc(notified[i], func(a, b heard) int { return int(a.to - b.to) })
		for _, c := range calls[i] {
			n, _ := slices.BinarySearchFunc(notified[i], c.seq, func(h heard, seq id.Seq) int { return int(h.to - seq) })
			if n == len(notified[i]) {
				return nil, fmt.Errorf("nobody was told of write %d of board %d", c.seq, i)
			}
			waits = append(waits, float64(notified[i][n].at.Sub(c.made).Nanoseconds()))
		}
	}
	return waits, nil
}
