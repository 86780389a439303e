package board_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
)

// world is a board in a store, two agents, and what each relay has in hand. The
// rules under test are the shipped State over the memory store.
type world struct {
	t     *testing.T
	now   time.Time
	st    *memory.Store
	trace []string
	// hand is a claim that a relay committed and has not settled; a crash forgets it.
	hand map[string]board.Claimed
	// heard is what arrived at each agent.
	heard map[string][]wire.Notification
	// wrote is who wrote which position.
	wrote  []string
	claims int
}

const lease = 10 * time.Second

var (
	place = id.Ref{Tenant: "t", Board: "b"}
	pair  = []string{"a", "b"}
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), hand: map[string]board.Claimed{}, heard: map[string][]wire.Notification{}}
	w.st = memory.New(memory.Options{Now: func() time.Time { return w.now }})
	w.decide(func(s *board.State, env board.Env) {
		_, err := s.Create(env, wire.CreateBoard{Board: "b", Regions: []wire.RegionDecl{{Name: "now", Kind: wire.Premise}, {Name: "later", Kind: wire.Premise, Window: time.Second}},
			Agents: []wire.AgentDecl{{Name: "a"}, {Name: "b", SubscribesTo: wire.Only("now")}}})
		w.ok(err)
	})
	return w
}

func (w *world) ok(err error) {
	if err != nil {
		w.t.Fatalf("%v: %v", w.trace, err)
	}
}

func (w *world) decide(decision func(s *board.State, env board.Env)) {
	ctx := context.Background()
	tx, facts, err := w.st.Begin(ctx, []board.Want{{Ref: place}})
	w.ok(err)
	defer tx.Rollback()
	s := board.NewState(place, facts[0])
	decision(s, board.Env{Now: tx.Now(), Salt: func() []byte { return make([]byte, 16) }, NewID: func() string { w.claims++; return fmt.Sprint("claim-", w.claims) }})
	if c, changed := s.Take(); changed {
		w.ok(tx.Apply(ctx, board.Changes{Boards: []board.Change{c}}))
		w.ok(tx.Commit(ctx))
	}
}

func (w *world) facts() board.Facts {
	f, err := w.st.Look(context.Background(), board.Want{Ref: place})
	w.ok(err)
	return f
}

// move is one thing that can happen. do reports whether it could.
type move struct {
	name string
	do   func(w *world) bool
}

func write(writer, region string) move {
	return move{writer + " writes " + region, func(w *world) bool {
		w.decide(func(s *board.State, env board.Env) {
			res, err := s.WritePremise(env, writer, wire.PremiseWrite{Region: region, Expect: s.Region(region).Version, Content: json.RawMessage(`1`)}, board.Verdict{})
			w.ok(err)
			if res.Written == nil {
				w.t.Fatalf("%v: %+v", w.trace, res)
			}
			w.wrote = append(w.wrote, writer+" "+region)
		})
		return true
	}}
}

// claim is a relay's first transaction, for everything that is due.
var claim = move{"claim", func(w *world) bool {
	var got []board.Claimed
	w.decide(func(s *board.State, env board.Env) {
		got = s.Claim(env, lease, func(*board.Agent) bool { return true })
	})
	for _, c := range got {
		w.hand[c.Notification.Agent] = c
	}
	return len(got) > 0
}}

// send is what follows the claim's commit.
func send(agent string) move {
	return move{"send to " + agent, func(w *world) bool {
		c, ok := w.hand[agent]
		if ok {
			w.heard[agent] = append(w.heard[agent], c.Notification)
		}
		return ok
	}}
}

func settle(agent string, retry time.Duration) move {
	what := "settle "
	if retry > 0 {
		what = "fail "
	}
	return move{what + agent, func(w *world) bool {
		c, ok := w.hand[agent]
		if !ok {
			return false
		}
		if retry == 0 && !slices.ContainsFunc(w.heard[agent], func(n wire.Notification) bool { return n.To >= c.Notification.To && n.From <= c.Notification.From }) {
			return false // nobody settles what was not sent
		}
		w.decide(func(s *board.State, env board.Env) {
			s.Settle(env, board.Settlement{Agent: agent, Claim: c.Claim, RetryIn: retry})
		})
		delete(w.hand, agent)
		return true
	}}
}

func acknowledge(agent string) move {
	return move{agent + " acknowledges", func(w *world) bool {
		n := len(w.heard[agent])
		if n == 0 {
			return false
		}
		w.decide(func(s *board.State, env board.Env) { w.ok(s.Acknowledge(env, agent, w.heard[agent][n-1].To)) })
		return true
	}}
}

// crash is a relay that dies with what it has in hand.
var crash = move{"crash", func(w *world) bool {
	had := len(w.hand) > 0
	clear(w.hand)
	return had
}}

func pass(d time.Duration) move {
	return move{"pass " + d.String(), func(w *world) bool { w.now = w.now.Add(d); return true }}
}

var moves = []move{
	write("x", "now"), write("a", "now"), write("x", "later"), claim, send("a"), send("b"), settle("a", 0), settle("b", 0),
	settle("a", time.Second), acknowledge("a"), crash, pass(lease),
}

// check holds the rule: for each agent and each change by others to what it
// subscribed to, there is a pending row, a claim in flight that covers the change,
// or a notification that arrived and covered it.
func (w *world) check() {
	f := w.facts()
	for _, agent := range pair {
		var row *board.Outbox
		for i := range f.Outbox {
			if f.Outbox[i].Agent == agent {
				row = &f.Outbox[i]
			}
		}
		for i, who := range w.wrote {
			seq := id.Seq(i + 1)
			var writer, region string
			fmt.Sscan(who, &writer, &region)
			if writer == agent || agent == "b" && region == "later" {
				continue
			}
			covered := row != nil && (!row.Due.IsZero() && seq > told(f, agent) || row.Claim != "" && row.From <= seq && seq <= row.To)
			for _, n := range w.heard[agent] {
				covered = covered || n.From <= seq && seq <= n.To && slices.Contains(n.Regions, region)
			}
			if !covered {
				w.t.Fatalf("%v:\n%s was not told of %d and will not be: outbox %+v, heard %+v", w.trace, agent, seq, f.Outbox, w.heard[agent])
			}
		}
		for _, n := range w.heard[agent] {
			if !slices.IsSorted(n.Regions) || len(n.Regions) == 0 || n.From > n.To || n.To > f.Row.Head {
				w.t.Fatalf("%v: %+v", w.trace, n)
			}
		}
	}
	if due := f.Row.Due; len(f.Outbox) > 0 {
		for _, o := range f.Outbox {
			at := o.Due
			if o.Claim != "" {
				at = o.Lease
			}
			if due.IsZero() || due.After(at) {
				w.t.Fatalf("%v: a sweep would not find %+v: due %v", w.trace, o, due)
			}
		}
	}
}

func told(f board.Facts, agent string) id.Seq {
	for _, a := range f.Agents {
		if a.Name == agent {
			return a.Told
		}
	}
	return 0
}

// finish runs a relay that works until nothing is left, and holds that everything
// was then told.
func (w *world) finish() {
	clear(w.hand)
	for range 10 {
		w.now = w.now.Add(lease)
		if !claim.do(w) {
			break
		}
		for _, agent := range pair {
			send(agent).do(w)
			settle(agent, 0).do(w)
		}
		w.check()
	}
	if f := w.facts(); len(f.Outbox) != 0 {
		w.t.Fatalf("%v: still to be told: %+v", w.trace, f.Outbox)
	}
	w.check()
}

// TestNoChangeIsLostHoweverTheRelayIsInterrupted tries every sequence of moves of a
// length: writes by an agent and by others, claims, sends, settlements,
// acknowledgments, crashes and time that passes.
func TestNoChangeIsLostHoweverTheRelayIsInterrupted(t *testing.T) {
	depth := 6
	switch {
	case testing.Short():
		depth = 4
	case slowed: // nothing here runs at the same time as anything else
		depth = 5
	}
	tried := 0
	var explore func(path []int)
	// The store cannot be copied, so each path is run from the start; a path whose
	// last move was impossible is not followed further.
	explore = func(path []int) {
		if len(path) == depth {
			return
		}
		for i := range moves {
			if len(path) == 0 && i > 2 {
				break // before a write nothing can happen
			}
			next := append(path[:len(path):len(path)], i)
			w := newWorld(t)
			possible := true
			for _, m := range next {
				w.trace = append(w.trace, moves[m].name)
				possible = moves[m].do(w)
			}
			if !possible {
				continue
			}
			tried++
			w.check()
			if len(next) == depth {
				w.finish()
			}
			explore(next)
		}
	}
	explore(nil)
	t.Logf("%d sequences", tried)
}
