package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/internal/runner"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

func TestRun(t *testing.T) {
	play(t, pair, func(s *scene) {
		begin := time.Now()
		r := s.run(s.config(map[string]agent.Body{"lead": says("answer", "done"), "helper": idle}))
		s.terminal(r)
		if r.Joined || time.Since(begin) != 0 {
			t.Errorf("%+v after %s", r, time.Since(begin))
		}
		again := s.run(s.config(map[string]agent.Body{"lead": waits(nil), "helper": waits(nil)}))
		s.terminal(again)
		if !again.Joined {
			t.Errorf("%+v", again)
		}
	})
}

// TestTimeout: no answer in time is a failed attempt, and the next one comes after
// its backoff.
func TestTimeout(t *testing.T) {
	play(t, pair, func(s *scene) {
		o := s.config(map[string]agent.Body{"lead": attempts(waits(nil), waits(nil), says("answer", "done")), "helper": idle})
		o.Agents["lead"] = runner.Agent{Body: o.Agents["lead"].Body, Timeout: 30 * time.Second}
		s.terminal(s.run(o))
		failed := s.of("lead", timeline.Failed)
		if len(failed) != 2 || !strings.HasPrefix(failed[0].Reason, "no answer within 30s: ") {
			t.Fatalf("%+v", failed)
		}
		got := gaps(s.of("lead", timeline.Summoned, timeline.Failed))
		want := []time.Duration{30 * time.Second, 200 * time.Millisecond, 30 * time.Second, 400 * time.Millisecond}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestFailures: an error and a panic are the attempt's own; the run goes on, and ends
// at the bound.
func TestFailures(t *testing.T) {
	play(t, pair, func(s *scene) {
		o := s.config(map[string]agent.Body{"helper": idle, "lead": attempts(
			func(context.Context, *wire.Summons, agent.Surface) error { return errors.New("out of strength") },
			func(context.Context, *wire.Summons, agent.Surface) error { panic("out of mind") },
			func(context.Context, *wire.Summons, agent.Surface) error {
				return errors.New("x" + strings.Repeat("é", 5000))
			},
			func(context.Context, *wire.Summons, agent.Surface) error { return context.DeadlineExceeded },
			func(context.Context, *wire.Summons, agent.Surface) error { return errors.New("\xff\x00") },
		)})
		r := s.run(o)
		if r.End == nil || r.End.Terminal || r.End.Reason != machine.ReasonExchangesPerAgentStage || r.Outcome.Kind != wire.Aborted {
			t.Errorf("%+v %+v", r.End, r.Outcome)
		}
		failed := s.of("lead", timeline.Failed)
		if len(failed) != 5 || failed[0].Reason != "out of strength" || !strings.HasPrefix(failed[1].Reason, "the agent panicked: out of mind\n") {
			t.Fatalf("%+v", failed)
		}
		if n := len(failed[2].Reason); n > 1100 || !strings.HasPrefix(failed[2].Reason, "xéé") || strings.ContainsRune(failed[2].Reason, '\uFFFD') {
			t.Errorf("%d bytes of a long reason: %.20s", n, failed[2].Reason)
		}
		if strings.HasPrefix(failed[3].Reason, "no answer") {
			t.Errorf("an agent's own deadline is told as Slate's: %s", failed[3].Reason)
		}
		if failed[4].Reason != "\uFFFD\uFFFD" {
			t.Errorf("%q", failed[4].Reason)
		}
	})
}

// TestUnmet: an agent that acknowledges without what it was asked for is asked again
// at once, until the bound.
func TestUnmet(t *testing.T) {
	play(t, pair, func(s *scene) {
		begin := time.Now()
		r := s.run(s.config(map[string]agent.Body{"lead": idle, "helper": idle}))
		if r.End == nil || r.End.Reason != machine.ReasonExchangesPerAgentStage {
			t.Errorf("%+v", r.End)
		}
		if n := len(s.of("lead", timeline.Summoned)); n != 5 || len(s.of("helper", timeline.Summoned)) != 1 {
			t.Errorf("%d summonses of the lead", n)
		}
		for _, e := range s.of("lead", timeline.Finished) {
			if e.Met == nil || *e.Met {
				t.Errorf("%+v", e)
			}
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("it took %s", d)
		}
	})
}

// TestWritersDoNotHoldTheMachine: an agent that has said what moves the machine on,
// and goes on working, holds nobody up; once the machine has ended it has a moment to
// leave, and is ended then.
func TestWritersDoNotHoldTheMachine(t *testing.T) {
	play(t, pair, func(s *scene) {
		begin := time.Now()
		ended := make(chan error, 4)
		lingers := func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
			value := "again"
			if sum.Entry == 2 {
				value = "done"
			}
			if _, err := b.UpdateContext(ctx, "answer", value); err != nil {
				return err
			}
			return waits(ended)(ctx, sum, b)
		}
		s.terminal(s.run(s.config(map[string]agent.Body{"lead": lingers, "helper": waits(ended)})))
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("it took %s", d)
		}
		if len(ended) != 4 {
			t.Errorf("%d bodies were ended", len(ended))
		}
		for range len(ended) {
			if err := <-ended; err == nil || err.Error() != "the machine has moved on" {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestSuperseded: a body that works on a summons of an earlier entry is ended when
// its agent is asked anew, and what it writes is refused.
func TestSuperseded(t *testing.T) {
	play(t, pair, func(s *scene) {
		stale, written := make(chan error, 1), make(chan struct{})
		helper := func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
			if sum.Entry > 1 {
				defer close(written)
				return says("notes", "new")(ctx, sum, b)
			}
			<-ctx.Done()
			_, err := b.UpdateContext(context.WithoutCancel(ctx), "notes", "old")
			stale <- err
			return nil
		}
		lead := func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
			if sum.Entry == 1 {
				return says("answer", "again")(ctx, sum, b)
			}
			// The old helper ends before this lead does.
			err := <-stale
			if refusal.CodeOf(err) != refusal.StaleSummons {
				t.Errorf("the old helper's write: %v", err)
			}
			<-written
			return says("answer", "done")(ctx, sum, b)
		}
		s.terminal(s.run(s.config(map[string]agent.Body{"lead": lead, "helper": helper})))
		refused := s.of("helper", timeline.Refused)
		if len(refused) != 1 || refused[0].Field != "notes" || refused[0].Refusal.Code != refusal.StaleSummons {
			t.Errorf("%+v", refused)
		}
		wrote := s.of("helper", timeline.Wrote)
		if len(wrote) != 1 || string(wrote[0].Value) != `"new"` {
			t.Errorf("%+v", wrote)
		}
	})
}

// TestInterrupted: a run that is interrupted gives its summonses back: whoever goes
// on need not wait for a lease, and makes the same attempt.
func TestInterrupted(t *testing.T) {
	play(t, pair, func(s *scene) {
		ctx, cancel := context.WithCancel(s.t.Context())
		ended := make(chan error, 2)
		done := make(chan error, 1)
		var first, second *wire.Summons
		lead := func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
			first = sum
			return waits(ended)(ctx, sum, b)
		}
		go func() {
			_, err := runner.Run(ctx, s.config(map[string]agent.Body{"lead": lead, "helper": waits(ended)}))
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if len(ended) != 2 {
			t.Errorf("%d bodies were ended", len(ended))
		}
		begin := time.Now()
		r := s.run(s.config(map[string]agent.Body{"helper": idle, "lead": func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
			second = sum
			return says("answer", "done")(ctx, sum, b)
		}}))
		s.terminal(r)
		if !r.Joined || time.Since(begin) != 0 {
			t.Errorf("%+v after %s", r, time.Since(begin))
		}
		if second.Attempt != 1 || second.Entry != first.Entry || second.Generation <= first.Generation {
			t.Errorf("first %+v, then %+v", first, second)
		}
		if len(s.of("lead", timeline.Redelivery)) != 1 || len(s.of("lead", timeline.Summoned)) != 1 {
			t.Errorf("%+v", s.of("lead", timeline.Redelivery, timeline.Summoned))
		}
	})
}

// TestLeaseExpires: when a holder is not heard of any more, another takes its summons
// over after the lease, and the old one can write nothing.
func TestLeaseExpires(t *testing.T) {
	for _, alone := range []bool{false, true} {
		play(t, pair, func(s *scene) {
			begin := time.Now()
			wake, done := make(chan struct{}), make(chan error, 1)
			written := make(chan error, 1)
			var old *wire.Summons
			hangs := func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
				old = sum
				<-wake // and not ctx
				_, err := b.UpdateContext(context.WithoutCancel(ctx), "answer", "again")
				written <- err
				return err
			}
			ctx, cancel := context.WithCancel(s.t.Context())
			go func() {
				_, err := runner.Run(ctx, s.config(map[string]agent.Body{"lead": hangs, "helper": idle}))
				done <- err
			}()
			synctest.Wait()
			cancel() // from here on nobody settles or gives back

			o := s.config(map[string]agent.Body{"helper": idle, "lead": func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
				if sum.Attempt != 1 || sum.Entry != old.Entry || sum.Generation <= old.Generation {
					t.Errorf("old %+v, new %+v", old, sum)
				}
				close(wake)
				if err := <-written; refusal.CodeOf(err) != refusal.StaleSummons {
					t.Errorf("the old holder's write: %v", err)
				}
				return says("answer", "done")(ctx, sum, b)
			}})
			o.Alone = alone
			s.terminal(s.run(o))
			// The agent's minute, and the time that its holder has to settle; whoever is
			// alone knows that the holder is dead.
			want := 75 * time.Second
			if alone {
				want = 0
			}
			if d := time.Since(begin); d != want {
				t.Errorf("alone %v: it took %s, want %s", alone, d, want)
			}
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLimits: the run's own limits close it under its agents, at their instant.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits wire.RunLimits
		kind   wire.OutcomeKind
	}{
		{"wall clock", wire.RunLimits{WallClock: 7 * time.Second}, wire.WallClockExpired},
		{"idle", wire.RunLimits{Idle: 7 * time.Second}, wire.Settled},
		{"both", wire.RunLimits{Idle: 7 * time.Second, WallClock: time.Hour}, wire.Settled},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, pair, func(s *scene) {
				begin := time.Now()
				ended := make(chan error, 2)
				o := s.config(map[string]agent.Body{"lead": waits(ended), "helper": waits(ended)})
				o.Limits = c.limits
				r := s.run(o)
				if r.End != nil || r.Outcome == nil || r.Outcome.Kind != c.kind || r.Outcome.Complete {
					t.Errorf("%+v %+v", r.End, r.Outcome)
				}
				if d := time.Since(begin); d != 7*time.Second || len(ended) != 2 {
					t.Errorf("it took %s, %d bodies were ended", d, len(ended))
				}
			})
		})
	}
}

// TestEndedFromOutside: what somebody else does to the board is noticed while every
// agent is at work.
func TestEndedFromOutside(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		play(t, pair, func(s *scene) {
			begin := time.Now()
			done := make(chan error, 1)
			var r runner.Result
			go func() {
				var err error
				r, err = runner.Run(s.t.Context(), s.config(map[string]agent.Body{"lead": waits(nil), "helper": waits(nil)}))
				done <- err
			}()
			synctest.Wait()
			if _, err := s.boards.Abort(s.t.Context(), operator, "pair", "enough"); err != nil {
				t.Fatal(err)
			}
			if deleted {
				if err := s.boards.Delete(s.t.Context(), operator, "pair"); err != nil {
					t.Fatal(err)
				}
			}
			err := <-done
			switch {
			case deleted && refusal.CodeOf(err) != refusal.UnknownBoard:
				t.Errorf("%v", err)
			case !deleted && (err != nil || r.Outcome == nil || r.Outcome.Kind != wire.Aborted || r.Outcome.Reason != "enough" || r.End != nil):
				t.Errorf("%+v, %v", r, err)
			}
			if d := time.Since(begin); d > time.Second {
				t.Errorf("it took %s", d)
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	play(t, pair, func(s *scene) {
		_, err := runner.Run(s.t.Context(), s.config(map[string]agent.Body{"helper": idle}))
		if refusal.CodeOf(err) != refusal.UnknownAgent || !strings.Contains(err.Error(), "nobody answers for: lead") {
			t.Errorf("%v", err)
		}
		if _, err := s.boards.Show(s.t.Context(), operator, "pair"); refusal.CodeOf(err) != refusal.UnknownBoard {
			t.Errorf("a board was made: %v", err)
		}
	})
}

// TestTimelineIsTheRecord: what a run tells as it goes is what its record tells
// afterwards, in order and once, with the two rounds told apart.
func TestTimelineIsTheRecord(t *testing.T) {
	play(t, pair, func(s *scene) {
		lead := func(ctx context.Context, sum *wire.Summons, b agent.Surface) error {
			if sum.Entry == 1 {
				return says("answer", "again")(ctx, sum, b)
			}
			return says("answer", "done")(ctx, sum, b)
		}
		s.terminal(s.run(s.config(map[string]agent.Body{"lead": lead, "helper": says("notes", "one")})))
		var live, kept []timeline.Event
		for _, e := range s.events {
			if e.Seq > 0 {
				live = append(live, e)
			}
		}
		page, err := s.boards.Changes(s.t.Context(), operator, "pair", wire.Page{Limit: wire.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		reader := timeline.NewReader()
		for _, entry := range page.Entries {
			if e, ok := reader.Read(entry); ok {
				kept = append(kept, e)
			}
		}
		if len(live) != len(kept) || len(live) == 0 {
			t.Fatalf("%d events live, %d kept", len(live), len(kept))
		}
		round := 0
		for i := range live {
			if live[i].Seq != kept[i].Seq || live[i].Kind != kept[i].Kind || live[i].Agent != kept[i].Agent {
				t.Errorf("live %+v, kept %+v", live[i], kept[i])
			}
			if live[i].Kind == timeline.Entered && live[i].State == "work" {
				round++
				if live[i].Round != round {
					t.Errorf("round %d of %+v", round, live[i])
				}
			}
		}
		if round != 2 {
			t.Errorf("%d rounds", round)
		}
	})
}
