package boardtest

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

var notifications = []sentence{
	{"a region without a window is told of before the write is answered", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		r.premise("a", "window", 0, `1`)
		r.heard(e, told("watcher", 1, 1, "window"))
		if a := r.agent("watcher"); a.Told != 1 || a.Cursor != 0 || a.Pending {
			t.Fatalf("%+v", a)
		}
		equal(t, "outbox rows", len(r.facts().Outbox), 0)
	}},
	{"a notification carries the range from where the last one ended and the changed regions by name", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "z", Kind: wire.Premise, Window: time.Second}, {Name: "m", Kind: wire.Premise, Window: time.Second},
			{Name: "a", Kind: wire.Premise, Window: time.Second}, {Name: "quiet", Kind: wire.Level}, {Name: "b", Kind: wire.Premise}}, Agents: []wire.AgentDecl{{Name: "watcher"}}})
		for _, region := range []string{"z", "a", "m", "a"} {
			r.set("x", region)
			r.level("x", "quiet", `1`)
		}
		r.heard(e)
		r.set("x", "b")
		r.heard(e, told("watcher", 1, 9, "a", "b", "m", "z"))
		r.level("x", "quiet", `1`)
		r.set("x", "b")
		r.heard(e, told("watcher", 10, 11, "b"))
	}},
	{"a writer is not told of its own write", func(t *testing.T, r *rig) {
		e := r.listen("a", "b")
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"})
		r.set("a", "window")
		r.heard(e, told("b", 1, 1, "window"))
		r.set("b", "window")
		r.heard(e, told("a", 1, 2, "window"))
		r.set("a", "goal")
		r.heard(e, told("b", 2, 3, "goal"))
		equal(t, "outbox rows", len(r.facts().Outbox), 0)
	}},
	{"a write leaves no intent to notify its writer", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"})
		r.set("a", "window")
		if f := r.facts(); len(f.Outbox) != 1 || f.Outbox[0].Agent != "b" {
			t.Fatalf("%+v", f.Outbox)
		}
	}},
	{"regions that only the agent itself changed are not named, whoever else wrote others", func(t *testing.T, r *rig) {
		e := r.listen("a")
		r.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "mine", Kind: wire.Premise, Window: time.Second}, {Name: "theirs", Kind: wire.Premise, Window: time.Second},
			{Name: "both", Kind: wire.Premise, Window: time.Second}, {Name: "mine then theirs", Kind: wire.Premise, Window: time.Second}},
			Agents: []wire.AgentDecl{{Name: "a"}}})
		for _, w := range [][2]string{{"a", "mine"}, {"b", "theirs"}, {"b", "both"}, {"a", "both"}, {"a", "both"}, {"a", "mine then theirs"}, {"c", "mine then theirs"}, {"a", "mine"}} {
			r.set(w[0], w[1])
		}
		r.clock.move(time.Second)
		r.sweep()
		r.heard(e, told("a", 1, 8, "both", "mine then theirs", "theirs"))
		r.set("a", "both")
		r.clock.move(time.Second)
		r.sweep()
		r.heard(e)
		r.set("b", "mine")
		r.clock.move(time.Second)
		r.sweep()
		r.heard(e, told("a", 9, 10, "mine"))
	}},
	{"an agent is told once of a change", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		r.heard(e, told("watcher", 1, 1, "window"))
		for range 3 {
			r.clock.move(time.Hour)
			r.sweep()
			r.again().sweep()
		}
		r.ack("watcher", 1)
		r.sweep()
		r.heard(e)
	}},
	{"agents are told by name, one at a time", func(t *testing.T, r *rig) {
		e := r.listen("a", "b", "c")
		r.create(wire.AgentDecl{Name: "c"}, wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"})
		r.set("x", "window")
		r.heard(e, told("a", 1, 1, "window"), told("b", 1, 1, "window"), told("c", 1, 1, "window"))
	}},
	{"an agent that writes when it is told neither waits for itself nor keeps others from hearing", func(t *testing.T, r *rig) {
		e := r.listen("a", "b")
		depth, deepest := 0, 0
		e.then = func(n wire.Notification) error {
			depth++
			deepest = max(deepest, depth)
			defer func() { depth-- }()
			if n.To < 6 {
				r.set(n.Agent, "window")
			}
			return nil
		}
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"})
		r.set("x", "window")
		equal(t, "depth", deepest, 1)
		last := map[string]id.Seq{}
		for _, n := range e.take() {
			if n.From != last[n.Agent]+1 {
				t.Fatalf("agent %s is told of %d to %d after %d", n.Agent, n.From, n.To, last[n.Agent])
			}
			last[n.Agent] = n.To
		}
		// What either did not write itself it heard of.
		for _, entry := range r.changes() {
			for _, who := range []string{"a", "b"} {
				if entry.Writer != who && entry.Seq > last[who] {
					t.Fatalf("%s did not hear of %d by %s", who, entry.Seq, entry.Writer)
				}
			}
		}
	}},
	{"a write between claim and settlement is not lost", func(t *testing.T, r *rig) {
		e := r.listen("a")
		first := true
		e.then = func(wire.Notification) error {
			if first {
				first = false
				r.set("b", "goal")
				r.again().set("c", "window")
			}
			return nil
		}
		r.create(wire.AgentDecl{Name: "a"})
		r.set("x", "window")
		r.heard(e, told("a", 1, 1, "window"), told("a", 2, 3, "goal", "window"))
	}},
}

// windowed makes a board whose regions have windows of 10 s, 3 s and none.
func (r *rig) windowed(agents ...wire.AgentDecl) {
	r.t.Helper()
	r.make(wire.CreateBoard{Agents: agents, Regions: []wire.RegionDecl{
		{Name: "long", Kind: wire.Premise, Window: 10 * time.Second}, {Name: "short", Kind: wire.Premise, Window: 3 * time.Second},
		{Name: "none", Kind: wire.Premise}, {Name: "heap", Kind: wire.Level, Window: 3 * time.Second}}})
}

// quietUntil fails unless nothing is heard up to an instant d from now, and moves
// the clock there.
func (r *rig) quietUntil(e *ear, d time.Duration) {
	r.t.Helper()
	r.clock.move(d - tick)
	r.sweep()
	r.heard(e)
	r.clock.move(tick)
}

var windows = []sentence{
	{"a change waits for its region's window, to the instant", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		r.heard(e)
		r.quietUntil(e, 10*time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 1, "long"))
	}},
	{"a level has a window as a premise has", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher", SubscribesTo: wire.Only("heap")})
		r.level("a", "heap", `1`)
		r.quietUntil(e, 3*time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 1, "heap"))
	}},
	{"later changes do not start a window anew", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		for range 3 {
			r.clock.move(3 * time.Second)
			r.set("a", "long")
			r.heard(e)
		}
		r.quietUntil(e, time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 4, "long"))
	}},
	{"everything pending goes as one notification at the earliest due instant", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		r.clock.move(time.Second)
		r.set("a", "short")
		r.quietUntil(e, 3*time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 2, "long", "short"))
		r.clock.move(time.Minute)
		r.sweep()
		r.heard(e)
	}},
	{"a window that ends sooner than the new change's is kept", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		r.clock.move(9 * time.Second)
		r.set("a", "short")
		r.quietUntil(e, time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 2, "long", "short"))
	}},
	{"a change without a window carries what others were waiting with", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		r.set("a", "short")
		r.set("a", "none")
		r.heard(e, told("watcher", 1, 3, "long", "none", "short"))
	}},
	{"windows are each agent's own", func(t *testing.T, r *rig) {
		e := r.listen("l", "s")
		r.windowed(wire.AgentDecl{Name: "l", SubscribesTo: wire.Only("long")}, wire.AgentDecl{Name: "s", SubscribesTo: wire.Only("short")})
		r.set("a", "long")
		r.set("a", "short")
		r.quietUntil(e, 3*time.Second)
		r.sweep()
		r.heard(e, told("s", 1, 2, "short"))
		r.quietUntil(e, 7*time.Second)
		r.sweep()
		r.heard(e, told("l", 1, 2, "long"))
	}},
	{"a clock that jumps forward makes everything due that it passed", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		r.clock.move(240 * time.Hour)
		r.sweep()
		r.heard(e, told("watcher", 1, 1, "long"))
	}},
	{"a clock that jumps back loses nothing and sends nothing early", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "long")
		r.clock.move(-time.Hour)
		r.sweep()
		r.heard(e)
		r.set("a", "short")
		r.quietUntil(e, time.Hour+3*time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 2, "long", "short"))
		r.clock.move(-time.Hour)
		r.set("a", "none")
		r.heard(e, told("watcher", 3, 3, "none"))
	}},
	{"an acknowledgment does not touch what is pending", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.windowed(wire.AgentDecl{Name: "watcher"})
		r.set("a", "none")
		r.set("a", "long")
		e.take()
		r.ack("watcher", 1)
		if !r.agent("watcher").Pending {
			t.Fatal("nothing is pending")
		}
		r.clock.move(10 * time.Second)
		r.sweep()
		r.heard(e, told("watcher", 2, 2, "long"))
	}},
}
