package boardtest

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// may reports whether a write by an agent to a level is permitted.
func (r *rig) may(who, region string) bool {
	r.t.Helper()
	res, err := r.s.WriteLevel(r.ctx, by(who), name, wire.LevelWrite{Region: region, Content: raw(`1`)})
	r.ok(err)
	if res.Rejection != nil {
		equal(r.t, "cause", res.Rejection.Cause, refusal.NotPermitted)
	}
	return res.Written != nil
}

var agents = []sentence{
	{"declared and self-registered agents are rows on the run that every process reads", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "declared", Address: "http://d", WritesTo: wire.Only("facts"), SubscribesTo: wire.Only("ideas", "goal")})
		r.clock.move(time.Second)
		st, err := r.s.Register(r.ctx, by("joined"), name, wire.AgentDecl{Name: "joined", Address: "http://j", WritesTo: wire.Only(), SubscribesTo: wire.Only()})
		r.ok(err)
		if st.Name != "joined" || !st.Registered.Equal(start.Add(time.Second)) {
			t.Fatalf("%+v", st)
		}
		d, j := r.again().agent("declared"), r.again().agent("joined")
		if d.Address != "http://d" || !d.WritesTo.Equal(wire.Only("facts")) || !d.SubscribesTo.Equal(wire.Only("ideas", "goal")) || !d.Registered.Equal(start) {
			t.Fatalf("%+v", d)
		}
		if j.Address != "http://j" || !j.WritesTo.Equal(wire.Only()) || !j.SubscribesTo.Equal(wire.Only()) || !j.Registered.Equal(st.Registered) {
			t.Fatalf("%+v", j)
		}
	}},
	{"the library never makes an agent of a writer", func(t *testing.T, r *rig) {
		r.create()
		r.level("stranger", "facts", `1`)
		equal(t, "agents", len(r.show().Run.Agents), 0)
	}},
	{"an agent that joins is told of what comes after it joined", func(t *testing.T, r *rig) {
		e := r.listen("early", "late")
		r.create(wire.AgentDecl{Name: "early"})
		r.set("a", "window")
		st, err := r.s.Register(r.ctx, by("late"), name, wire.AgentDecl{Name: "late"})
		r.ok(err)
		if st.Told != 1 || st.Cursor != 1 || st.Pending {
			t.Fatalf("%+v", st)
		}
		e.take()
		r.set("a", "goal")
		r.heard(e, told("early", 2, 2, "goal"), told("late", 2, 2, "goal"))
	}},
	{"registering the same declaration again changes nothing", func(t *testing.T, r *rig) {
		r.listen("a")
		decl := wire.AgentDecl{Name: "a", Address: "x", WritesTo: wire.Only("facts", "ideas"), SubscribesTo: wire.Only("goal", "window")}
		r.create(decl)
		r.set("b", "window")
		before := r.facts().Row.Rev
		decl.WritesTo, decl.SubscribesTo = wire.Only("ideas", "facts"), wire.Only("window", "goal")
		st, err := r.again().s.Register(r.ctx, by("a"), name, decl)
		r.ok(err)
		if st.Told != 1 || !st.Registered.Equal(start) {
			t.Fatalf("%+v", st)
		}
		equal(t, "revision", r.facts().Row.Rev, before)
	}},
	{"another declaration under a name that is taken is refused AGENT_EXISTS", func(t *testing.T, r *rig) {
		decl := wire.AgentDecl{Name: "a", Address: "x", WritesTo: wire.Only("facts"), SubscribesTo: wire.Only("goal")}
		r.create(decl)
		for _, change := range []func(d *wire.AgentDecl){
			func(d *wire.AgentDecl) { d.Address = "y" },
			func(d *wire.AgentDecl) { d.WritesTo = wire.Names{} },
			func(d *wire.AgentDecl) { d.WritesTo = wire.Only() },
			func(d *wire.AgentDecl) { d.WritesTo = wire.Only("facts", "ideas") },
			func(d *wire.AgentDecl) { d.SubscribesTo = wire.Names{} },
			func(d *wire.AgentDecl) { d.SubscribesTo = wire.Only() },
			func(d *wire.AgentDecl) { d.SubscribesTo = wire.Only("window") },
		} {
			other := decl
			change(&other)
			_, err := r.s.Register(r.ctx, by("a"), name, other)
			r.refused(err, refusal.AgentExists)
		}
		if a := r.agent("a"); a.Address != "x" || !a.WritesTo.Equal(decl.WritesTo) {
			t.Fatalf("%+v", a)
		}
	}},
	{"a registration names regions that are declared", func(t *testing.T, r *rig) {
		r.create()
		_, err := r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: "a", WritesTo: wire.Only("nowhere")})
		r.refused(err, refusal.UnknownRegion)
		_, err = r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: "a", WritesTo: wire.Only("goal")})
		r.refused(err, refusal.WrongKind)
		_, err = r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: "a", SubscribesTo: wire.Only("facts", "nowhere")})
		r.refused(err, refusal.UnknownRegion)
		equal(t, "agents", len(r.show().Run.Agents), 0)
	}},
	{"no agent joins a closed run", func(t *testing.T, r *rig) {
		r.create()
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		_, err = r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: "a"})
		r.refused(err, refusal.RunClosed)
	}},
	{"a permission that is absent is for every level, an empty one for none, a named one for exactly those", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "all"}, wire.AgentDecl{Name: "none", WritesTo: wire.Only()}, wire.AgentDecl{Name: "one", WritesTo: wire.Only("ideas")})
		for _, p := range []*rig{r, r.again()} {
			for _, c := range []struct {
				who          string
				facts, ideas bool
			}{{"all", true, true}, {"none", false, false}, {"one", false, true}, {"no agent", true, true}} {
				if p.may(c.who, "facts") != c.facts || p.may(c.who, "ideas") != c.ideas {
					t.Fatalf("agent %s: facts or ideas not as permitted", c.who)
				}
			}
		}
	}},
	{"a permission is for levels: premises are anybody's", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "none", WritesTo: wire.Only()})
		r.premise("none", "window", 0, `1`)
	}},
	{"a permission of a run is gone with the run", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "none", WritesTo: wire.Only()})
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		r.attach()
		r.level("none", "facts", `1`)
	}},
	{"a subscription that is absent is to every premise and no level, an empty one to nothing, a named one to exactly those", func(t *testing.T, r *rig) {
		e := r.listen("premises", "nothing", "some")
		r.create(wire.AgentDecl{Name: "premises"}, wire.AgentDecl{Name: "nothing", SubscribesTo: wire.Only()},
			wire.AgentDecl{Name: "some", SubscribesTo: wire.Only("facts", "goal")})
		r.level("a", "ideas", `1`)
		r.heard(e)
		r.level("a", "facts", `1`)
		r.heard(e, told("some", 1, 2, "facts"))
		r.set("a", "window")
		r.heard(e, told("premises", 1, 3, "window"))
		r.set("a", "goal")
		r.heard(e, told("premises", 4, 4, "goal"), told("some", 3, 4, "goal"))
	}},
}
