package boardtest

import (
	"context"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

const tick = time.Microsecond

// idle makes the board with an idle limit of a minute.
func (r *rig) idle(agents ...wire.AgentDecl) {
	r.t.Helper()
	r.make(wire.CreateBoard{Agents: agents, Limits: wire.RunLimits{Idle: time.Minute}})
}

// open fails unless the run is open at this instant, before and after a sweep.
func (r *rig) open() {
	r.t.Helper()
	equal(r.t, "runs closed by the sweep", r.sweep().Closed, 0)
	if r.show().Run == nil {
		r.t.Fatal("the run has closed")
	}
}

var limits = []sentence{
	{"the idle limit closes the run at its instant and not before", func(t *testing.T, r *rig) {
		r.idle()
		r.clock.move(time.Minute - tick)
		r.open()
		r.clock.move(tick)
		equal(t, "closed", r.sweep().Closed, 1)
		o := r.closed(wire.Settled)
		if !o.ClosedAt.Equal(start.Add(time.Minute)) || !o.OpenedAt.Equal(start) || o.Run != 1 || o.Complete {
			t.Fatalf("%+v", o)
		}
	}},
	{"a limit holds whether or not a sweep has come by", func(t *testing.T, r *rig) {
		r.idle(wire.AgentDecl{Name: "a"})
		r.clock.move(time.Minute)
		res, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		if got := r.rejected(res, err, refusal.RunClosed); got.Outcome == nil || got.Outcome.Kind != wire.Settled {
			t.Fatalf("%+v", got)
		}
		_, err = r.s.Register(r.ctx, by("b"), name, wire.AgentDecl{Name: "b"})
		r.refused(err, refusal.RunClosed)
		r.refused(r.s.Acknowledge(r.ctx, by("a"), name, wire.Acknowledge{Through: 1}), refusal.RunClosed)
		_, err = r.s.Abort(r.ctx, by("a"), name, "")
		r.refused(err, refusal.RunClosed)
		equal(t, "closed by the sweep", r.sweep().Closed, 0)
	}},
	{"every write, registration and acknowledgment pushes the idle limit out", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.idle(wire.AgentDecl{Name: "watcher"})
		for _, act := range []func(){
			func() { r.level("a", "facts", `1`) },
			func() { r.set("a", "window") },
			func() { r.set("a", "window") },
			func() { r.ack("watcher", 2) },
			func() {
				_, err := r.s.Register(r.ctx, by("late"), name, wire.AgentDecl{Name: "late"})
				r.ok(err)
			},
			func() { r.premise("a", "window", 2, "") },
		} {
			r.clock.move(time.Minute - tick)
			act()
			equal(t, "idle limit", r.show().Run.IdleAt, r.clock.now().Add(time.Minute))
			r.open()
		}
		r.clock.move(time.Minute)
		equal(t, "closed", r.sweep().Closed, 1)
	}},
	{"reads, refusals and late acknowledgments do not push the idle limit out", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.idle(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		r.ack("watcher", 1)
		r.clock.move(time.Second)
		r.ack("watcher", 1)
		r.changes()
		_, err := r.s.Register(r.ctx, by("watcher"), name, wire.AgentDecl{Name: "watcher"})
		r.ok(err)
		_, err = r.s.Register(r.ctx, by("watcher"), name, wire.AgentDecl{Name: "watcher", Address: "x"})
		r.refused(err, refusal.AgentExists)
		r.refused(r.s.Acknowledge(r.ctx, by("watcher"), name, wire.Acknowledge{Through: 2}), refusal.NeverNotified)
		r.conflict(r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`)}))
		r.attach()
		equal(t, "idle limit", r.show().Run.IdleAt, start.Add(time.Minute))
	}},
	{"the wall clock limit closes the run at its instant, whatever happens", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Minute, WallClock: 2 * time.Minute}})
		for range 4 {
			r.clock.move(30*time.Second - tick)
			r.level("a", "facts", `1`)
		}
		r.clock.move(4*tick - tick)
		r.open()
		r.clock.move(tick)
		equal(t, "closed", r.sweep().Closed, 1)
		equal(t, "instant", r.closed(wire.WallClockExpired).ClosedAt, start.Add(2*time.Minute))
	}},
	{"of two limits that have passed the earlier one closed the run", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Minute, WallClock: 2 * time.Minute}})
		r.make(wire.CreateBoard{Board: "other", Limits: wire.RunLimits{Idle: 2 * time.Minute, WallClock: time.Minute}})
		r.clock.move(time.Hour)
		equal(t, "closed", r.sweep().Closed, 2)
		r.closed(wire.Settled)
		v, err := r.s.Show(r.ctx, by("a"), "other")
		r.ok(err)
		equal(t, "outcome", v.Outcome.Kind, wire.WallClockExpired)
	}},
	{"a run without limits stays open", func(t *testing.T, r *rig) {
		r.create()
		r.clock.move(100 * 365 * 24 * time.Hour)
		r.open()
		r.level("a", "facts", `1`)
	}},
	{"limits hold under a clock that jumps back", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Minute, WallClock: time.Hour}})
		r.clock.move(30 * time.Second)
		r.level("a", "facts", `1`)
		r.clock.move(-10 * time.Minute)
		r.open()
		equal(t, "stamped", r.level("a", "facts", `1`).At, start.Add(30*time.Second))
		equal(t, "idle limit", r.show().Run.IdleAt, start.Add(90*time.Second))
		r.clock.move(11*time.Minute - tick)
		r.open()
		r.clock.move(tick)
		equal(t, "closed", r.sweep().Closed, 1)
		equal(t, "instant", r.closed(wire.Settled).ClosedAt, start.Add(90*time.Second))
	}},
	{"a run with no predicate settles unasked, and one that is complete settles complete", func(t *testing.T, r *rig) {
		asked := 0
		var saw wire.BoardState
		r.calls.Termination = func(_ context.Context, b wire.BoardState) bool { asked++; saw = b; return true }
		r.idle()
		r.level("a", "facts", `1`)
		r.clock.move(time.Minute - tick)
		r.open()
		equal(t, "asked before the limit", asked, 0)
		r.clock.move(tick)
		equal(t, "closed", r.sweep().Closed, 1)
		equal(t, "asked", asked, 1)
		if o := r.closed(wire.Settled); !o.Complete || o.Seq != 1 || saw.Head != 1 || saw.Run == nil {
			t.Fatalf("%+v, the predicate saw %+v", o, saw)
		}
	}},
	{"a predicate that finds the result incomplete starts the idle limit anew", func(t *testing.T, r *rig) {
		asked := 0
		r.calls.Termination = func(context.Context, wire.BoardState) bool { asked++; return asked == 3 }
		r.idle()
		for range 2 {
			r.clock.move(time.Minute)
			r.open()
			equal(t, "idle limit", r.show().Run.IdleAt, r.clock.now().Add(time.Minute))
		}
		r.clock.move(time.Minute - tick)
		r.open()
		equal(t, "asked", asked, 2)
		r.clock.move(tick)
		equal(t, "closed", r.sweep().Closed, 1)
	}},
	{"a limit that began anew is not brought forward by a clock that goes back", func(t *testing.T, r *rig) {
		r.calls.Termination = func(context.Context, wire.BoardState) bool { return false }
		r.idle()
		r.clock.move(2 * time.Minute)
		r.open()
		r.clock.move(-time.Minute)
		r.level("a", "facts", `1`)
		equal(t, "idle limit", r.show().Run.IdleAt, start.Add(3*time.Minute))
	}},
	{"a predicate that judged an older position decides nothing", func(t *testing.T, r *rig) {
		r.calls.Termination = func(_ context.Context, b wire.BoardState) bool {
			if b.Head == 0 {
				r.level("a", "facts", `"a write while the predicate looks"`)
			}
			return true
		}
		r.idle()
		r.clock.move(time.Minute)
		r.open()
		equal(t, "idle limit", r.show().Run.IdleAt, r.clock.now().Add(time.Minute))
		r.clock.move(time.Minute)
		equal(t, "closed", r.sweep().Closed, 1)
		equal(t, "position", r.closed(wire.Settled).Seq, 1)
	}},
	{"a predicate that judged an older position neither closes a run that is overdue again nor starts its limit anew", func(t *testing.T, r *rig) {
		complete := true
		r.calls.Termination = func(_ context.Context, b wire.BoardState) bool {
			if b.Head == 2 {
				return true
			}
			r.level("a", "facts", `"a write while the predicate looks"`)
			r.clock.move(time.Minute)
			return complete
		}
		r.idle()
		for ; complete || r.show().Head < 2; complete = false {
			r.clock.move(time.Minute)
			written := r.clock.now()
			if r.sweep().Closed != 0 {
				t.Fatal("closed by a judgement of an older position")
			}
			equal(t, "idle limit", r.show().Run.IdleAt, written.Add(time.Minute))
		}
		equal(t, "closed", r.sweep().Closed, 1)
	}},
	{"while a process holds a predicate, its writes do not close the run by the idle limit", func(t *testing.T, r *rig) {
		r.calls.Termination = func(context.Context, wire.BoardState) bool { return true }
		r.idle()
		r.clock.move(time.Hour)
		r.level("a", "facts", `1`)
		r.open()
	}},
	{"a run whose result is incomplete expires on the wall clock", func(t *testing.T, r *rig) {
		r.calls.Termination = func(context.Context, wire.BoardState) bool { return false }
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Minute, WallClock: 90 * time.Second}})
		r.clock.move(time.Minute)
		r.open()
		r.clock.move(30*time.Second - tick)
		r.open()
		r.clock.move(tick)
		equal(t, "closed", r.sweep().Closed, 1)
		r.closed(wire.WallClockExpired)
	}},
	{"a predicate that panics closes nothing and is reported", func(t *testing.T, r *rig) {
		r.calls.Termination = func(context.Context, wire.BoardState) bool { panic("predicate") }
		r.idle()
		r.clock.move(time.Minute)
		if _, err := r.s.Sweep(r.ctx); err == nil {
			t.Fatal("the sweep says nothing")
		}
		if r.show().Run == nil {
			t.Fatal("the run has closed")
		}
	}},
}

var outcomes = []sentence{
	{"an abort ends the run with its reason and names no agents", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		r.clock.move(time.Second)
		o, err := r.s.Abort(r.ctx, by("a"), name, "no budget")
		r.ok(err)
		if o.Kind != wire.Aborted || o.Reason != "no budget" || len(o.Unfinished) != 0 || o.Seq != 1 || o.Run != 1 || !o.ClosedAt.Equal(start.Add(time.Second)) {
			t.Fatalf("%+v", o)
		}
		_, err = r.s.Abort(r.ctx, by("a"), name, "again")
		r.refused(err, refusal.RunClosed)
		equal(t, "reason", r.closed(wire.Aborted).Reason, "no budget")
	}},
	{"Settled and WallClockExpired name the agents that did not finish", func(t *testing.T, r *rig) {
		agents := []wire.AgentDecl{{Name: "unreached"}, {Name: "silent"}, {Name: "done"}, {Name: "undisturbed", SubscribesTo: wire.Only()}, {Name: "behind"}}
		r.listen("silent", "done", "behind")
		r.make(wire.CreateBoard{Agents: agents, Limits: wire.RunLimits{Idle: time.Minute}})
		r.make(wire.CreateBoard{Board: "other", Agents: agents, Limits: wire.RunLimits{WallClock: time.Minute}})
		for _, b := range []id.Board{name, "other"} {
			for v := range id.Version(2) {
				r.wrote(r.s.WritePremise(r.ctx, by("a"), b, wire.PremiseWrite{Region: "window", Expect: v, Content: raw(`1`)}))
			}
			r.ok(r.s.Acknowledge(r.ctx, by("done"), b, wire.Acknowledge{Through: 2}))
			r.ok(r.s.Acknowledge(r.ctx, by("behind"), b, wire.Acknowledge{Through: 1}))
		}
		r.clock.move(time.Minute)
		equal(t, "closed", r.sweep().Closed, 2)
		for _, b := range []id.Board{name, "other"} {
			v, err := r.again().s.Show(r.ctx, by("a"), b)
			r.ok(err)
			if got := v.Outcome.Unfinished; len(got) != 3 || got[0] != "behind" || got[1] != "silent" || got[2] != "unreached" {
				t.Fatalf("board %s, %s: unfinished %q", b, v.Outcome.Kind, got)
			}
		}
	}},
	{"the run goes at close and the record stays", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher"}, {Name: "unreached"}}, Limits: wire.RunLimits{Idle: time.Minute, WallClock: time.Hour}})
		r.level("a", "facts", `1`)
		r.set("a", "window")
		r.clock.move(time.Minute)
		r.sweep()
		f := r.facts()
		if f.Row.Run != nil || len(f.Agents) != 0 || len(f.Outbox) != 0 || !f.Row.Due.IsZero() {
			t.Fatalf("of the run stayed %+v", f)
		}
		for _, p := range []*rig{r, r.again()} {
			equal(t, "entries", len(p.changes()), 2)
			equal(t, "regions", len(p.show().Regions), len(regions))
			p.closed(wire.Settled)
		}
	}},
	{"a later run has an outcome of its own", func(t *testing.T, r *rig) {
		r.create()
		_, err := r.s.Abort(r.ctx, by("a"), name, "one")
		r.ok(err)
		r.attach()
		r.level("a", "facts", `1`)
		o, err := r.s.Abort(r.ctx, by("a"), name, "two")
		r.ok(err)
		if o.Run != 2 || o.Seq != 1 || r.show().Outcome.Reason != "two" {
			t.Fatalf("%+v", o)
		}
	}},
	{"opened and closed are called once, by the process that did it", func(t *testing.T, r *rig) {
		heard := map[string]int{}
		calls := func(who string) board.Callables {
			return board.Callables{
				Opened: func(_ context.Context, b wire.BoardState) {
					heard[who+" opened"]++
					if b.Run == nil || b.Board != name {
						t.Errorf("opened with %+v", b)
					}
				},
				Closed: func(_ context.Context, b wire.BoardState, o wire.Outcome) {
					heard[who+" closed"]++
					if b.Run != nil || b.Outcome == nil || o.Kind != wire.Settled {
						t.Errorf("closed with %+v, %+v", b, o)
					}
				},
			}
		}
		other := r.again()
		r.calls, other.calls = calls("one"), calls("other")
		r.idle()
		other.attach()
		r.attach()
		r.clock.move(time.Minute)
		other.sweep()
		r.sweep()
		r.clock.move(time.Minute)
		r.sweep()
		if len(heard) != 2 || heard["one opened"] != 1 || heard["other closed"] != 1 {
			t.Fatalf("%v", heard)
		}
	}},
	{"an opened or closed that panics is nobody else's failure", func(t *testing.T, r *rig) {
		r.calls.Opened = func(context.Context, wire.BoardState) { panic("opened") }
		r.calls.Closed = func(context.Context, wire.BoardState, wire.Outcome) { panic("closed") }
		r.create()
		r.level("a", "facts", `1`)
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
	}},
}
