package boards

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is a service with a sweeper at work, on the bubble's clock.
type office struct {
	*Service
	ctx context.Context
	mu  sync.Mutex
	at  []time.Duration
	n   []wire.Notification
}

func newOffice(t *testing.T) *office {
	ctx, stop := context.WithCancel(context.Background())
	s, err := New(ctx, control.NewWriter(memory.New(memory.Options{})), Config{})
	if err != nil {
		t.Fatal(err)
	}
	o := &office{Service: s, ctx: ctx}
	var sweeping sync.WaitGroup
	sweeping.Go(func() { s.RunSweeper(ctx) })
	t.Cleanup(func() { stop(); sweeping.Wait() })
	synctest.Wait()
	return o
}

// open makes a board with a premise that waits for a window. With tell, its agent's
// notifications are kept with the instant that they came at.
func (o *office) open(t *testing.T, b id.Board, window, idle time.Duration, tell bool) {
	t.Helper()
	began := time.Now()
	var c board.Callables
	if tell {
		c.Notify = map[string]board.Notifier{"a": func(_ context.Context, n wire.Notification) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.at, o.n = append(o.at, time.Since(began)), append(o.n, n)
			return nil
		}}
	}
	_, err := o.Create(o.ctx, app, wire.CreateBoard{Board: b, Regions: []wire.RegionDecl{{Name: "p", Kind: wire.Premise, Window: window}},
		Agents: []wire.AgentDecl{{Name: "a"}}, Limits: wire.RunLimits{Idle: idle}}, c)
	if err != nil {
		t.Fatal(err)
	}
}

func (o *office) write(t *testing.T, b id.Board) {
	t.Helper()
	v, err := o.Premise(o.ctx, app, b, "p")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.WritePremise(o.ctx, app, b, wire.PremiseWrite{Region: "p", Expect: v.Version, Content: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
}

func TestTheSweeperSendsWhenAWindowEnds(t *testing.T) {
	for _, window := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 999 * time.Millisecond, 2500 * time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice(t)
			o.open(t, "b", window, 0, true)
			o.write(t, "b")
			time.Sleep(2 * window)
			synctest.Wait()
			if len(o.at) != 1 || o.at[0] < window || o.at[0] > window+2*soonest {
				t.Errorf("window %v: told at %v", window, o.at)
			}
		})
	}
}

func TestABoardThatCannotBeServedDoesNotKeepTheSweeperFromWakingForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for _, b := range []id.Board{"x", "y"} {
			o.open(t, b, 0, 0, false)
			o.write(t, b) // due for good: nobody here can tell the agent
		}
		time.Sleep(3 * time.Second)
		o.open(t, "b", 50*time.Millisecond, 0, true)
		o.write(t, "b")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(o.at) != 1 || o.at[0] < 50*time.Millisecond || o.at[0] > 52*time.Millisecond {
			t.Errorf("told at %v", o.at)
		}
	})
}

func TestTheSweeperClosesARunWhenItsLimitPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		began := time.Now()
		o.open(t, "b", 0, 1500*time.Millisecond, true)
		time.Sleep(1499 * time.Millisecond)
		o.write(t, "b")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		v, err := o.Show(o.ctx, app, "b")
		if err != nil || v.Run != nil {
			t.Fatalf("%+v %v", v, err)
		}
		if took := v.Outcome.ClosedAt.Sub(began); took < 2999*time.Millisecond || took > 3001*time.Millisecond {
			t.Errorf("closed after %v", took)
		}
	})
}

func TestTheSweeperRetriesAFailedNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		var at []time.Duration
		began := time.Now()
		var given []board.Undelivered
		_, err := o.Create(o.ctx, app, wire.CreateBoard{Board: "b", Regions: []wire.RegionDecl{{Name: "p", Kind: wire.Premise}}, Agents: []wire.AgentDecl{{Name: "a"}}},
			board.Callables{
				Notify: map[string]board.Notifier{"a": func(context.Context, wire.Notification) error {
					at = append(at, time.Since(began))
					return context.DeadlineExceeded
				}},
				Undelivered: func(_ context.Context, u board.Undelivered) { given = append(given, u) },
			})
		if err != nil {
			t.Fatal(err)
		}
		o.write(t, "b")
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(at) != maxTries || len(given) != 1 || given[0].Tries != maxTries {
			t.Fatalf("tried at %v, given up %+v", at, given)
		}
		wait := firstWait
		for i := 1; i < len(at); i++ {
			if got := at[i] - at[i-1]; got < wait || got > wait+3*soonest {
				t.Errorf("try %d after %v, want %v", i+1, got, wait)
			}
			wait = min(2*wait, longestWait)
		}
	})
}

func TestTheSweeperFindsWhatAnotherProcessLeftWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		ctx, stop := context.WithCancel(context.Background())
		mine, err := New(ctx, control.NewWriter(st), Config{})
		if err != nil {
			t.Fatal(err)
		}
		other, err := New(ctx, control.NewWriter(st), Config{})
		if err != nil {
			t.Fatal(err)
		}
		var sweeping sync.WaitGroup
		sweeping.Go(func() { mine.RunSweeper(ctx) })
		(&office{Service: other, ctx: ctx}).open(t, "b", 0, 0, false)
		var told time.Duration
		began := time.Now()
		mine.Use(id.Ref{Tenant: "t", Board: "b"}, board.Callables{Notify: map[string]board.Notifier{"a": func(context.Context, wire.Notification) error {
			told = time.Since(began)
			return nil
		}}})
		time.Sleep(10*time.Second + sweepEvery/2)
		synctest.Wait()
		began = time.Now()
		(&office{Service: other, ctx: ctx}).write(t, "b")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if told == 0 || told > sweepEvery {
			t.Errorf("told after %v", told)
		}
		stop()
		sweeping.Wait()
	})
}

func TestTheSweeperStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t) // whose cleanup waits for the sweeper
		o.open(t, "b", 0, 0, true)
	})
}
