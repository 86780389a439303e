package boardtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// decide makes one decision on the board in a transaction of its own, as the writer
// does.
func (r *rig) decide(decision func(st *board.State, env board.Env)) {
	r.t.Helper()
	tx, facts, err := r.store.Begin(r.ctx, []board.Want{{Ref: ref}})
	r.ok(err)
	defer tx.Rollback()
	st := board.NewState(ref, facts[0])
	decision(st, board.Env{Now: tx.Now(), Salt: func() []byte { return make([]byte, 16) }, NewID: id.New})
	if c, changed := st.Take(); changed {
		r.ok(tx.Apply(r.ctx, board.Changes{Boards: []board.Change{c}}))
		r.ok(tx.Commit(r.ctx))
	}
}

// claim takes what is due for every agent and goes no further, as a process that
// dies after the commit.
func (r *rig) claim(lease time.Duration) (claimed []board.Claimed) {
	r.t.Helper()
	r.decide(func(st *board.State, env board.Env) {
		claimed = st.Claim(env, lease, func(*board.Agent) bool { return true })
	})
	return claimed
}

var outbox = []sentence{
	{"the intent to notify is one row an agent, in the transaction of the write", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"}, wire.AgentDecl{Name: "c", SubscribesTo: wire.Only()})
		for range 3 {
			r.set("x", "window")
			r.set("a", "goal")
		}
		f := r.facts()
		if len(f.Outbox) != 2 || f.Outbox[0].Agent != "a" || f.Outbox[1].Agent != "b" || !f.Outbox[0].Due.Equal(start) || f.Outbox[0].Claim != "" {
			t.Fatalf("%+v", f.Outbox)
		}
		r.conflict(r.s.WritePremise(r.ctx, by("x"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`)}))
		equal(t, "rows", len(r.facts().Outbox), 2)
	}},
	{"what a process wrote and did not send another one sends", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		if a := r.agent("watcher"); !a.Pending || a.Told != 0 {
			t.Fatalf("%+v", a)
		}
		other := r.again()
		e := other.listen("watcher")
		other.attach()
		other.sweep()
		r.heard(e, told("watcher", 1, 1, "window"))
		equal(t, "rows", len(r.facts().Outbox), 0)
	}},
	{"a process reaches only the agents it holds callables for", func(t *testing.T, r *rig) {
		e := r.listen("mine")
		r.create(wire.AgentDecl{Name: "mine"}, wire.AgentDecl{Name: "theirs", Address: "x"})
		r.set("a", "window")
		r.heard(e, told("mine", 1, 1, "window"))
		f := r.facts()
		if len(f.Outbox) != 1 || f.Outbox[0].Agent != "theirs" || f.Outbox[0].Claim != "" {
			t.Fatalf("%+v", f.Outbox)
		}
		other := r.again()
		theirs := other.listen("theirs")
		other.attach()
		other.sweep()
		r.heard(theirs, told("theirs", 1, 1, "window"))
		r.heard(e)
	}},
	{"a process with a transport reaches addresses, and an agent with a callable is not also reached by its address", func(t *testing.T, r *rig) {
		e := r.listen("both")
		var posted []string
		r.calls.Reach = func(_ context.Context, address string, n wire.Notification) error {
			posted = append(posted, address+" "+n.Agent)
			return nil
		}
		r.create(wire.AgentDecl{Name: "both", Address: "http://both"}, wire.AgentDecl{Name: "far", Address: "http://far"}, wire.AgentDecl{Name: "nowhere"})
		r.set("a", "window")
		r.heard(e, told("both", 1, 1, "window"))
		if len(posted) != 1 || posted[0] != "http://far far" {
			t.Fatalf("posted %q", posted)
		}
		if f := r.facts(); len(f.Outbox) != 1 || f.Outbox[0].Agent != "nowhere" {
			t.Fatalf("%+v", f.Outbox)
		}
	}},
	{"a claim whose lease has passed is sent again, from where it began and with what came since", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		dead := r.claim(30 * time.Second)
		if len(dead) != 1 || dead[0].Notification.From != 1 || dead[0].Notification.To != 1 || dead[0].Tries != 1 {
			t.Fatalf("%+v", dead)
		}
		r.set("a", "goal")
		other := r.again()
		e := other.listen("watcher")
		other.attach()
		other.quietUntil(e, 30*time.Second)
		other.sweep()
		r.heard(e, told("watcher", 1, 2, "goal", "window"))
		equal(t, "rows", len(r.facts().Outbox), 0)
		// The first claimer was only slow: it settles late, and again.
		r.set("a", "window")
		other.sweep()
		r.heard(e, told("watcher", 3, 3, "window"))
		before := r.facts()
		for range 2 {
			r.decide(func(st *board.State, env board.Env) {
				st.Settle(env, board.Settlement{Agent: "watcher", Claim: dead[0].Claim})
			})
		}
		equal(t, "revision", r.facts().Row.Rev, before.Row.Rev)
	}},
	{"a late settlement does not end another process's claim", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		slow := r.claim(time.Second)
		r.clock.move(time.Second)
		next := r.claim(time.Second)
		if len(next) != 1 || next[0].Claim == slow[0].Claim || next[0].Tries != 2 {
			t.Fatalf("%+v", next)
		}
		r.decide(func(st *board.State, env board.Env) {
			st.Settle(env, board.Settlement{Agent: "watcher", Claim: slow[0].Claim})
		})
		if f := r.facts(); len(f.Outbox) != 1 || f.Outbox[0].Claim != next[0].Claim {
			t.Fatalf("%+v", f.Outbox)
		}
	}},
	{"a settled claim leaves no row when nothing has come since", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		c := r.claim(time.Minute)
		r.decide(func(st *board.State, env board.Env) {
			st.Settle(env, board.Settlement{Agent: "watcher", Claim: c[0].Claim})
		})
		if f := r.facts(); len(f.Outbox) != 0 || !f.Row.Due.IsZero() {
			t.Fatalf("%+v, due %v", f.Outbox, f.Row.Due)
		}
	}},
	{"what became due while a range was in flight is sent when it is settled", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		c := r.claim(time.Minute)
		r.set("a", "goal")
		if more := r.claim(time.Minute); len(more) != 0 {
			t.Fatalf("claimed past a claim: %+v", more)
		}
		r.decide(func(st *board.State, env board.Env) {
			st.Settle(env, board.Settlement{Agent: "watcher", Claim: c[0].Claim})
		})
		next := r.claim(time.Minute)
		if len(next) != 1 || next[0].Notification.From != 2 || next[0].Notification.To != 2 || next[0].Tries != 1 {
			t.Fatalf("%+v", next)
		}
	}},
}

var failures = []sentence{
	{"a failed send is tried again after waits that grow, and in the end given up and reported", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		cause := errors.New("no route")
		e.then = func(wire.Notification) error { return cause }
		var given []board.Undelivered
		r.calls.Undelivered = func(_ context.Context, u board.Undelivered) { given = append(given, u) }
		r.create(wire.AgentDecl{Name: "watcher", Address: "http://w"})
		r.set("a", "window")
		tries, waited, last := len(e.take()), time.Duration(0), time.Duration(0)
		equal(t, "tries at once", tries, 1)
		for len(given) == 0 {
			f := r.facts()
			if len(f.Outbox) != 1 {
				t.Fatalf("%+v", f.Outbox)
			}
			wait := f.Outbox[0].Lease.Sub(r.clock.now())
			if wait < last || wait <= 0 {
				t.Fatalf("the wait after %d tries is %v, after %v before", tries, wait, last)
			}
			r.quietUntil(e, wait)
			r.sweep()
			if n := len(e.take()); n != 1 {
				t.Fatalf("%d tries at once", n)
			}
			tries++
			waited, last = waited+wait, wait
			if tries > 50 {
				t.Fatal("it is never given up")
			}
		}
		u := given[0]
		if len(given) != 1 || u.Address != "http://w" || u.Agent != "watcher" || u.Tries != tries || !errors.Is(u.Err, cause) ||
			u.Notification.From != 1 || u.Notification.To != 1 || u.Notification.Board != name {
			t.Fatalf("%+v after %d tries", given, tries)
		}
		if tries < 3 || waited < time.Second {
			t.Fatalf("given up after %d tries and %v", tries, waited)
		}
		equal(t, "rows", len(r.facts().Outbox), 0)
		r.clock.move(time.Hour)
		r.sweep()
		r.heard(e)
		e.then = nil
		r.set("a", "window")
		r.heard(e, told("watcher", 2, 2, "window"))
	}},
	{"a range sent again keeps where it began and takes in what came since", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		fail := true
		e.then = func(wire.Notification) error {
			if fail {
				return errors.New("down")
			}
			return nil
		}
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		r.set("a", "goal")
		r.heard(e, told("watcher", 1, 1, "window"))
		fail = false
		r.clock.move(time.Minute)
		r.sweep()
		r.heard(e, told("watcher", 1, 2, "goal", "window"))
		equal(t, "rows", len(r.facts().Outbox), 0)
	}},
	{"a refusal by the agent is reported and not tried again", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		e.then = func(wire.Notification) error { return refusal.New(refusal.InvalidRequest, "", "no") }
		var given []board.Undelivered
		r.calls.Undelivered = func(_ context.Context, u board.Undelivered) { given = append(given, u) }
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		r.clock.move(time.Hour)
		r.sweep()
		r.heard(e, told("watcher", 1, 1, "window"))
		if len(given) != 1 || given[0].Tries != 1 || refusal.CodeOf(given[0].Err) != refusal.InvalidRequest {
			t.Fatalf("%+v", given)
		}
	}},
	{"a failure of one agent keeps nothing from another", func(t *testing.T, r *rig) {
		e := r.listen("a", "b", "c")
		e.then = func(n wire.Notification) error {
			switch n.Agent {
			case "a":
				return errors.New("down")
			case "b":
				panic("a callable")
			}
			return nil
		}
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"}, wire.AgentDecl{Name: "c"})
		r.set("x", "window")
		r.heard(e, told("a", 1, 1, "window"), told("b", 1, 1, "window"), told("c", 1, 1, "window"))
		f := r.facts()
		if len(f.Outbox) != 2 || f.Outbox[0].Agent != "a" || f.Outbox[1].Agent != "b" || f.Outbox[1].Tries != 1 {
			t.Fatalf("%+v", f.Outbox)
		}
		e.then = nil
		r.clock.move(time.Minute)
		r.sweep()
		r.heard(e, told("a", 1, 1, "window"), told("b", 1, 1, "window"))
	}},
	{"an undelivered that panics stops neither the relay nor later ones", func(t *testing.T, r *rig) {
		e := r.listen("a", "b")
		e.then = func(n wire.Notification) error {
			if n.Agent == "a" {
				return refusal.New(refusal.InvalidRequest, "", "no")
			}
			return nil
		}
		r.calls.Undelivered = func(context.Context, board.Undelivered) { panic("undelivered") }
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"})
		for seq := range id.Seq(2) {
			r.set("x", "window")
			r.heard(e, told("a", seq+1, seq+1, "window"), told("b", seq+1, seq+1, "window"))
		}
	}},
	{"an agent whose notification was given up did not finish", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		e.then = func(wire.Notification) error { return refusal.New(refusal.InvalidRequest, "", "no") }
		r.idle(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		r.clock.move(time.Minute)
		r.sweep()
		if o := r.closed(wire.Settled); len(o.Unfinished) != 1 {
			t.Fatalf("%+v", o)
		}
	}},
}

var acknowledgments = []sentence{
	{"an acknowledgment moves the cursor and covers every range that ends at or before it", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		for range 3 {
			r.set("a", "window")
		}
		r.ack("watcher", 2)
		if a := r.again().agent("watcher"); a.Cursor != 2 || a.Told != 3 {
			t.Fatalf("%+v", a)
		}
		r.ack("watcher", 3)
		equal(t, "cursor", r.agent("watcher").Cursor, 3)
	}},
	{"a late acknowledgment changes nothing", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		for range 3 {
			r.set("a", "window")
		}
		r.ack("watcher", 3)
		before := r.facts().Row.Rev
		for through := id.Seq(1); through <= 3; through++ {
			r.ack("watcher", through)
		}
		equal(t, "cursor", r.agent("watcher").Cursor, 3)
		equal(t, "revision", r.facts().Row.Rev, before)
	}},
	{"an acknowledgment of what the agent was never told is refused NEVER_NOTIFIED", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"}, wire.AgentDecl{Name: "unreached"})
		r.set("a", "window")
		r.level("a", "facts", `1`)
		for _, through := range []id.Seq{2, 3, 1 << 60, 0, -1} {
			r.refused(r.s.Acknowledge(r.ctx, by("watcher"), name, wire.Acknowledge{Through: through}), refusal.NeverNotified)
		}
		r.refused(r.s.Acknowledge(r.ctx, by("unreached"), name, wire.Acknowledge{Through: 1}), refusal.NeverNotified)
		equal(t, "cursor", r.agent("watcher").Cursor, 0)
	}},
	{"an acknowledgment by an agent that is not registered is refused UNKNOWN_AGENT", func(t *testing.T, r *rig) {
		r.create()
		r.level("stranger", "facts", `1`)
		r.refused(r.s.Acknowledge(r.ctx, by("stranger"), name, wire.Acknowledge{Through: 1}), refusal.UnknownAgent)
	}},
	{"an acknowledgment on a closed run is refused RUN_CLOSED", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		r.refused(r.s.Acknowledge(r.ctx, by("watcher"), name, wire.Acknowledge{Through: 1}), refusal.RunClosed)
	}},
	{"an agent may acknowledge while it is being told", func(t *testing.T, r *rig) {
		e := r.listen("a", "b")
		e.then = func(n wire.Notification) error {
			return r.s.Acknowledge(r.ctx, by(n.Agent), name, wire.Acknowledge{Through: n.To})
		}
		r.create(wire.AgentDecl{Name: "a"}, wire.AgentDecl{Name: "b"})
		r.set("x", "window")
		equal(t, "cursor", r.agent("b").Cursor, 1)
		equal(t, "rows", len(r.facts().Outbox), 0)
	}},
	{"an acknowledgment leaves a claim in flight to be settled", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		c := r.claim(time.Minute)
		r.ack("watcher", 1)
		if f := r.facts(); len(f.Outbox) != 1 || f.Outbox[0].Claim != c[0].Claim {
			t.Fatalf("%+v", f.Outbox)
		}
	}},
}
