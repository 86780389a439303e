package control

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// side is a store that writes boards side by side.
func side(parallel int) *probe {
	p := newProbe()
	p.batching = &board.Batching{PerBoard: true, Calls: board.MaxCalls, Parallel: parallel}
	return p
}

func TestBoardsAreWrittenSideBySideWhereTheStoreCan(t *testing.T) {
	for _, perBoard := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newProbe()
			if perBoard {
				p = side(0)
			}
			w := NewWriter(p)
			for _, b := range []id.Board{"a", "b", "c"} {
				must(t, w, create(b))
			}
			hold := make(chan struct{})
			p.onCommit = func(int) (error, bool) { <-hold; return nil, false }
			p.reset()
			c := &crowd{w: w}
			for _, b := range []id.Board{"a", "b", "c", "a", "b"} {
				c.join(context.Background(), "t", write(b))
				synctest.Wait()
			}
			want := 1
			if perBoard {
				want = 3
			}
			if p.commits != want {
				t.Errorf("per board %v: %d transactions at once, want %d", perBoard, p.commits, want)
			}
			close(hold)
			c.all.Wait()
			for _, o := range c.done {
				if o.err != nil {
					t.Error(o.err)
				}
			}
			if len(w.lanes) != 0 {
				t.Errorf("%d lanes are left", len(w.lanes))
			}
		})
	}
}

func TestNoMoreTransactionsRunAtOnceThanTheStoreTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := side(2)
		w := NewWriter(p)
		names := []id.Board{"a", "b", "c", "d", "e"}
		for _, b := range names {
			must(t, w, create(b))
		}
		var now, most atomic.Int32
		p.onCommit = func(int) (error, bool) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return nil, false
		}
		c := &crowd{w: w}
		for _, b := range names {
			c.join(context.Background(), "t", write(b))
		}
		c.all.Wait()
		if most.Load() != 2 {
			t.Errorf("%d transactions at once", most.Load())
		}
		// A caller that waits for a free one may give up.
		p.onCommit = func(int) (error, bool) { time.Sleep(time.Hour); return nil, false }
		c.join(context.Background(), "t", write("a"))
		c.join(context.Background(), "t", write("b"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		gone := c.join(ctx, "t", write("c"))
		late := c.join(context.Background(), "t", write("d"))
		c.all.Wait()
		if !errors.Is(gone.err, context.DeadlineExceeded) || refusal.CodeOf(late.err) != refusal.StoreBusy {
			t.Errorf("gave up: %v; waited: %v", gone.err, late.err)
		}
	})
}

func TestATransactionThatLostIsRunAgainUntilItIsNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		p.reset()
		p.onCommit = func(n int) (error, bool) {
			if n < 5 {
				return board.ErrRetry, false
			}
			return nil, false
		}
		if got := must(t, w, write("b")); got != id.Seq(1) || p.commits != 5 {
			t.Errorf("position %v after %d commits", got, p.commits)
		}
		p.onCommit = func(int) (error, bool) { return board.ErrRetry, false }
		began := time.Now()
		answer, receipt, err := w.Do(context.Background(), "t", write("b"))
		if refusal.CodeOf(err) != refusal.StoreBusy || answer != nil || receipt != (Receipt{}) {
			t.Errorf("%v %+v %v", answer, receipt, err)
		}
		if took := time.Since(began); took < retryWithin || took > 2*retryWithin {
			t.Errorf("given up after %v", took)
		}
	})
}

func TestACallOfManyBoardsRunsBesideThoseOfOne(t *testing.T) {
	p := side(0)
	w := NewWriter(p)
	names := []id.Board{"a", "b", "c"}
	for _, b := range names {
		must(t, w, create(b))
	}
	every := func(order ...id.Board) call {
		var wants []board.Want
		for _, b := range order {
			wants = append(wants, board.Want{Ref: refOf(b)})
		}
		return call{wants, func(t *Turn) (any, error) {
			for _, b := range order {
				if _, err := write(b).do(t); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}}
	}
	c := &crowd{w: w}
	const rounds = 50
	for i := range rounds {
		c.join(context.Background(), "t", every("a", "b", "c"))
		c.join(context.Background(), "t", every("c", "b", "a"))
		c.join(context.Background(), "t", write(names[i%3]))
	}
	c.all.Wait()
	total := id.Seq(0)
	for _, b := range names {
		total += head(t, p, b)
	}
	for _, o := range c.done {
		if o.err != nil {
			t.Fatal(o.err)
		}
	}
	if total != 7*rounds {
		t.Errorf("%d positions, want %d", total, 7*rounds)
	}
}
