package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/faults"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// cast are the agents that boards have.
var cast = []wire.AgentDecl{
	{Name: "ann"},
	{Name: "bob", SubscribesTo: wire.Only("notes", "log")},
	{Name: "cat", SubscribesTo: wire.Only("goal", "notes"), WritesTo: wire.Only("notes")},
	{Name: "dan", SubscribesTo: wire.Only("plan", "log")},
	{Name: "eve", SubscribesTo: wire.Only(), WritesTo: wire.Only()},
}

// heard is a notification that reached its agent.
type heard struct {
	ref id.Ref
	wire.Notification
	runs int64 // how many runs the board had had by then
}

// agents is what the agents were told.
type agents struct {
	s     *sim
	heard map[id.Ref]map[string][]heard
	// later are those that are still to be answered.
	later []heard
}

func newAgents(s *sim) *agents { return &agents{s: s, heard: map[id.Ref]map[string][]heard{}} }

// callables gives a process its agents. A process that is dead reaches nobody.
func (a *agents) callables(p *proc, ref id.Ref, st *faults.Store, c *board.Callables) {
	c.Notify = map[string]board.Notifier{}
	for _, decl := range cast {
		c.Notify[decl.Name] = func(ctx context.Context, n wire.Notification) error {
			if st.Dead() {
				return faults.ErrKilled
			}
			return a.told(ctx, p, ref, n)
		}
	}
	c.Undelivered = func(_ context.Context, u board.Undelivered) {
		if !st.Dead() {
			a.keep(ref, u.Notification) // whoever gives it up has been told of it
		}
	}
}

func (a *agents) keep(ref id.Ref, n wire.Notification) heard {
	if a.heard[ref] == nil {
		a.heard[ref] = map[string][]heard{}
	}
	h := heard{ref: ref, Notification: n, runs: a.s.boards[ref].facts.Row.Runs}
	a.heard[ref][n.Agent] = append(a.heard[ref][n.Agent], h)
	return h
}

// told is an agent being told, and what it does about it.
func (a *agents) told(ctx context.Context, p *proc, ref id.Ref, n wire.Notification) error {
	s := a.s
	if n.Board != ref.Board {
		s.fail("agent %s of %s was told of board %s", n.Agent, ref, n.Board)
	}
	a.deserved(ref, n)
	if !s.calm {
		switch s.rng.IntN(20) {
		case 0, 1:
			return errors.New("nobody answers")
		case 2:
			return refusal.New(refusal.InvalidRequest, "", "not like this")
		case 3:
			panic("an agent that panics")
		}
	}
	s.stats.Told++
	h := a.keep(ref, n)
	switch s.rng.IntN(8) {
	case 0, 1:
		a.answer(ctx, p, h, "inline")
	case 2, 3:
		a.later = append(a.later, h)
	case 4:
		if s.calm || ref == scratch {
			break
		}
		// It writes while it is being told, and is not told of that.
		st := p.st
		w := s.draw(ref)
		w.region, w.writer, w.blobs = "notes", n.Agent, nil
		r, err := p.boards.WriteLevel(ctx, p.who(ref, n.Agent), ref.Board, wire.LevelWrite{Region: w.region, Content: json.RawMessage(w.content), Key: w.key})
		s.answered(p, st, w, r, err)
	}
	return nil
}

// deserved fails when a notification names a region that nobody else changed in its
// range, or one that the agent did not ask for.
func (a *agents) deserved(ref id.Ref, n wire.Notification) {
	// What the notification tells of may have been committed in this very step.
	a.s.lookAt(ref)
	v := a.s.boards[ref]
	var decl board.Agent
	for _, d := range cast {
		if d.Name == n.Agent {
			decl.AgentDecl = d
		}
	}
	if n.From < 1 || n.From > n.To || int(n.To) > len(v.entries) || len(n.Regions) == 0 {
		a.s.fail("%s: agent %s was told %+v, the head is %d", ref, n.Agent, n, len(v.entries))
		return
	}
	for _, region := range n.Regions {
		found := false
		for _, e := range v.entries[n.From-1 : n.To] {
			found = found || e.Region == region && wakes(&decl, &e)
		}
		if !found {
			a.s.fail("%s: agent %s was told %+v, and nobody else changed %s", ref, n.Agent, n, region)
		}
	}
}

// answer acknowledges what an agent was told.
func (a *agents) answer(ctx context.Context, p *proc, h heard, how string) {
	st := p.st
	err := p.boards.Acknowledge(ctx, p.who(h.ref, h.Agent), h.ref.Board, wire.Acknowledge{Through: h.To})
	codes := []refusal.Code{refusal.RunClosed, refusal.UnknownBoard}
	if h.ref == scratch || a.s.boards[h.ref].facts.Row.Runs > 1 {
		// It may have been told in a run that is over, or on a board that is gone.
		codes = append(codes, refusal.UnknownAgent, refusal.NeverNotified)
	}
	p.expected(fmt.Sprintf("acknowledges %s, %s up to %d, %s", h.Agent, h.ref, h.To, how), st, err, codes...)
}

// acknowledge answers something late, or makes up what was never told.
func (p *proc) acknowledge() {
	a := p.s.agents
	if len(a.later) > 0 && !p.s.chance(8) {
		i := p.s.rng.IntN(len(a.later))
		h := a.later[i]
		a.later = append(a.later[:i], a.later[i+1:]...)
		p.run(fmt.Sprintf("answers for %s late, up to %d", h.Agent, h.To), func() { a.answer(p.s.ctx, p, h, "late") })
		return
	}
	ref := pick(p.s, plain)
	through := id.Seq(len(p.s.boards[ref].entries) + 1000)
	p.run("makes an acknowledgment up", func() {
		st := p.st
		err := p.boards.Acknowledge(p.s.ctx, p.who(ref, "ann"), ref.Board, wire.Acknowledge{Through: through})
		if err == nil {
			p.s.fail("%s: an acknowledgment of position %d, which nobody was told of, was taken", ref, through)
		}
		p.expected("makes an acknowledgment up", st, err, refusal.NeverNotified, refusal.RunClosed, refusal.UnknownAgent, refusal.UnknownBoard)
	})
}

// uncovered is a change that an agent of an open run was owed and never told of.
func (a *agents) uncovered(v *view) string {
	for i := range v.facts.Agents {
		agent := &v.facts.Agents[i]
		for k := int(v.joined[agent.Name]); k < len(v.entries); k++ {
			e := &v.entries[k]
			if !wakes(agent, e) {
				continue
			}
			told := false
			for _, h := range a.heard[v.ref][agent.Name] {
				if h.From <= e.Seq && e.Seq <= h.To {
					for _, r := range h.Regions {
						told = told || r == e.Region
					}
				}
			}
			if !told {
				return fmt.Sprintf("agent %s was never told of entry %d in %s", agent.Name, e.Seq, e.Region)
			}
		}
	}
	return ""
}
