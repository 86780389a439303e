package control

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

func TestCancellingWithdrawsACallThatIsStillQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		cause := errors.New("changed my mind")
		var gone, stays *outcome
		decided := false
		behind(t, p, w, func(c *crowd) {
			ctx, cancel := context.WithCancelCause(context.Background())
			gone = c.join(ctx, "t", call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) { decided = true; return write("b").do(t) }})
			synctest.Wait()
			stays = c.join(context.Background(), "t", write("b"))
			synctest.Wait()
			cancel(cause)
			synctest.Wait()
			if c.answered() != 1 {
				t.Error("the cancelled caller still waits")
			}
		})
		if decided || !errors.Is(gone.err, cause) {
			t.Errorf("decided %v, answered %v", decided, gone.err)
		}
		if stays.err != nil || stays.answer != id.Seq(1) {
			t.Errorf("the other: %v %v", stays.answer, stays.err)
		}
	})
}

func TestACallThatWasCancelledBeforehandIsNotMade(t *testing.T) {
	p := newProbe()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := NewWriter(p).Do(ctx, "t", create("b")); !errors.Is(err, context.Canceled) || len(p.begins) != 0 {
		t.Fatalf("%v, %d transactions", err, len(p.begins))
	}
}

func TestCancellingACallWhoseBatchRunsAnswersWhatBecameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		p.reset()
		commit, hold := make(chan struct{}), make(chan struct{})
		p.onBegin = func(n int) error {
			if n == 1 {
				<-hold
			}
			return nil
		}
		p.onCommit = func(int) (error, bool) { <-commit; return nil, false }
		c := &crowd{w: w}
		c.join(context.Background(), "t", call{nil, func(*Turn) (any, error) { return nil, nil }})
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		lead, follow := c.join(ctx, "t", write("b")), c.join(ctx, "t", write("b"))
		synctest.Wait()
		close(hold)
		synctest.Wait() // both are in a batch that waits for its commit
		cancel()
		synctest.Wait()
		if c.answered() != 1 {
			t.Error("answered before the commit")
		}
		close(commit)
		c.all.Wait()
		for _, o := range []*outcome{lead, follow} {
			if o.err != nil {
				t.Errorf("written and answered %v", o.err)
			}
		}
		if head(t, p, "b") != 2 {
			t.Errorf("head %d", head(t, p, "b"))
		}
	})
}

func TestABusyTenantDelaysItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		w.batching.Calls = 4
		var order []string
		var mu sync.Mutex
		by := func(who string) call {
			return call{nil, func(*Turn) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, who)
				return nil, nil
			}}
		}
		behind(t, p, w, func(c *crowd) {
			for i := range 10 {
				c.join(context.Background(), "busy", by(fmt.Sprint("busy ", i)))
				synctest.Wait()
			}
			for _, who := range []string{"quiet", "calm"} {
				for i := range 2 {
					c.join(context.Background(), id.Tenant(who), by(fmt.Sprint(who, " ", i)))
					synctest.Wait()
				}
			}
		})
		want := "[busy 0 quiet 0 calm 0 busy 1 quiet 1 calm 1 busy 2 busy 3 busy 4 busy 5 busy 6 busy 7 busy 8 busy 9]"
		if got := fmt.Sprint(order); got != want {
			t.Errorf("served %s\nwant   %s", got, want)
		}
	})
}

func TestTheQueueForgetsWhoWithdrew(t *testing.T) {
	q := &queue{}
	ps := map[string]*pending{}
	for _, name := range []string{"a0", "a1", "a2", "b0", "c0"} {
		ps[name] = &pending{tenant: id.Tenant(name[:1])}
		q.push(ps[name])
	}
	for _, name := range []string{"a1", "b0"} {
		if !q.withdraw(ps[name]) || q.withdraw(ps[name]) {
			t.Fatalf("%s: withdrawn not exactly once", name)
		}
	}
	for _, name := range []string{"a0", "c0", "a2"} {
		if got := q.pop(); got != ps[name] {
			t.Fatalf("popped %+v, want %s", got, name)
		}
	}
	if q.pop() != nil || q.length != 0 || q.withdraw(ps["a0"]) {
		t.Fatalf("%+v", q)
	}
}

// TestHandingOverTheLeadWhileCallersCancel runs many callers that give up at random
// moments: everyone is answered, nobody twice, and what was answered as written is.
func TestHandingOverTheLeadWhileCallersCancel(t *testing.T) {
	p := newProbe()
	w := NewWriter(p)
	w.batching.Calls = 3
	must(t, w, create("b"))
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	var written atomic.Int64
	for round := range rounds {
		var all sync.WaitGroup
		for i := range 12 {
			rnd := rand.New(rand.NewSource(int64(round*100 + i)))
			all.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if rnd.Intn(2) == 0 {
					spin := rnd.Intn(2000)
					go func() {
						for range spin {
							_ = ctx.Err()
						}
						cancel()
					}()
				}
				_, _, err := w.Do(ctx, id.Tenant(fmt.Sprint(i%3)), write("b"))
				switch {
				case err == nil:
					written.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("a caller waits for ever")
		}
	}
	if got := head(t, p, "b"); int64(got) != written.Load() {
		t.Errorf("%d callers were told that they wrote, the board has %d", written.Load(), got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lanes) != 0 {
		t.Errorf("%d lanes are left", len(w.lanes))
	}
}
