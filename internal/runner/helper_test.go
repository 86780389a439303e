package runner_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/runner"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a machine in which a lead answers, and a helper may.
const pair = `
fsm:
  name: pair
  version: 1
  initialState: work
  context:
    answer: { type: enum, values: [again, done] }
    notes:  { type: list, of: string }
  agents:
    lead:   { canTransition: [work] }
    helper: { canTransition: [work] }
  states:
    work:
      description: "Work."
      requires:
        - { name: answer, from: { agent: lead } }
        - { name: notes, from: { agent: helper }, required: false }
      transitions:
        - { toState: end, guards: [ { backend: cel, expression: "context.answer == 'done'" } ] }
        - toState: work
          guards: [ { backend: cel, expression: "context.answer == 'again'" } ]
          onTransition: [ { assign: { answer: "" } } ]
    end: { description: "End.", terminal: true }
  policy: { maxIterations: 3, maxExchangesPerStage: 20, maxExchangesPerAgentPerStage: 5, checkpointEvery: 2 }
`

// operator is on whose behalf the runs are made.
var operator = control.Principal{Tenant: id.DefaultTenant, Name: "operator"}

// scene is a system in memory under a clock that the test alone moves.
type scene struct {
	t        *testing.T
	boards   *boards.Service
	machines *machines.Service
	def      *machine.Definition

	mu     sync.Mutex
	events []timeline.Event
}

// play runs a test in a bubble, with a machine loaded before time stands still.
func play(t *testing.T, document string, do func(s *scene)) {
	t.Helper()
	def, err := machine.Load("test.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		area := machines.NewArea(st)
		w := control.NewWriter(st, area)
		b, err := boards.New(t.Context(), w, boards.Config{})
		if err != nil {
			t.Fatal(err)
		}
		sweeping, stop := context.WithCancel(t.Context())
		var swept sync.WaitGroup
		swept.Go(func() { b.RunSweeper(sweeping) })
		defer func() {
			stop()
			swept.Wait()
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}()
		do(&scene{t: t, boards: b, machines: machines.New(w, b, area), def: def})
	})
}

// config is a run's, its timeline kept.
func (s *scene) config(bodies map[string]agent.Body) runner.Config {
	c := runner.Config{Boards: s.boards, Machines: s.machines, Principal: operator, Board: "pair", Definition: s.def,
		Agents: map[string]runner.Agent{}, Holder: "test", Observe: func(e timeline.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		}}
	for name, body := range bodies {
		c.Agents[name] = runner.Agent{Body: body}
	}
	return c
}

// run runs a machine to its end and fails the test on an error.
func (s *scene) run(c runner.Config) runner.Result {
	s.t.Helper()
	result, err := runner.Run(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.machines.Verify(s.t.Context(), operator, "pair"); err != nil {
		s.t.Error(err)
	}
	return result
}

// of are the events of the kinds that an agent has a part in.
func (s *scene) of(name string, kinds ...timeline.Kind) []timeline.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []timeline.Event
	for _, e := range s.events {
		if e.Agent == name && slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// terminal fails the test unless the machine ended well.
func (s *scene) terminal(r runner.Result) {
	s.t.Helper()
	if r.End == nil || !r.End.Terminal || r.End.State != "end" || r.Outcome == nil || r.Outcome.Kind != wire.Settled || !r.Outcome.Complete {
		s.t.Errorf("%+v, %+v", r.End, r.Outcome)
	}
}

// says is a body that writes one value.
func says(field, value string) agent.Body {
	return func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		_, err := b.UpdateContext(ctx, field, value)
		return err
	}
}

// idle is a body that writes nothing and is done.
func idle(context.Context, *wire.Summons, agent.Surface) error { return nil }

// waits is a body that works until it is ended, and tells why it was.
func waits(ended chan<- error) agent.Body {
	return func(ctx context.Context, _ *wire.Summons, _ agent.Surface) error {
		<-ctx.Done()
		if ended != nil {
			ended <- context.Cause(ctx)
		}
		return ctx.Err()
	}
}

// attempts is a body that does something else each time it is asked.
func attempts(bodies ...agent.Body) agent.Body {
	return func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
		return bodies[min(sum.Attempt, len(bodies))-1](ctx, sum, b)
	}
}

// gaps are the times between the events.
func gaps(events []timeline.Event) []time.Duration {
	var out []time.Duration
	for i := 1; i < len(events); i++ {
		out = append(out, events[i].At.Sub(events[i-1].At))
	}
	return out
}
