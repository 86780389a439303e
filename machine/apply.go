package machine

import (
	"fmt"
	"time"

	"github.com/slate-agents/slate/id"
)

// This file is the only place where a run changes: a decision and a fold both come
// through here, which is what makes them agree.

// backoff is how long a failed attempt waits before the next: 200 ms times the
// attempt, at most 5 s.
func backoff(attempt int) time.Duration {
	return min(time.Duration(attempt)*200*time.Millisecond, 5*time.Second)
}

// contributed takes an agent's own entry.
func (r *Run) contributed(c *cell, it item, version id.Version) {
	r.position = it.seq
	switch c.field.Type {
	case List:
		c.push(it)
		if !it.erased {
			k := element{it.writer, c.field.index, it.val.v}
			if _, ok := r.seen[k]; !ok {
				r.seen[k] = it.seq
			}
		}
	case Map:
		c.put(it)
	default:
		c.set(it, version)
		// Replacing a scalar can take away what another agent had contributed.
		if r.state != nil && !r.state.Terminal && r.ended == nil && !r.satisfied() {
			r.resummon(it.at)
		}
	}
}

// resummon asks again every agent whose required entry is missing and whom nobody
// is asking.
func (r *Run) resummon(at time.Time) {
	for i := range r.state.asked {
		k := &r.state.asked[i]
		if !r.owes(k) {
			continue
		}
		switch s := &r.rows[k.agent]; {
		case s.Entry != r.entry:
			r.summon(k.agent, at)
		case s.Status == Settled:
			s.Attempt++
			s.Status, s.Due, s.SentAt, s.Failure = Pending, at, time.Time{}, ""
			r.dirty[k.agent] = true
		}
	}
}

// summon makes the agent's first summons of this state entry.
func (r *Run) summon(agent int, at time.Time) {
	s := &r.rows[agent]
	*s = Summons{Agent: s.Agent, Generation: s.Generation, Entry: r.entry, Attempt: 1, Status: Pending, Due: at}
	r.dirty[agent] = true
}

// overtake settles whatever summonses are open.
func (r *Run) overtake() {
	for i := range r.rows {
		if s := &r.rows[i]; s.Status == Pending || s.Status == Sent {
			if s.Status == Sent {
				r.overtaken = append(r.overtaken, i)
			}
			s.Status, s.Due, s.LeaseUntil, s.Holder = Settled, time.Time{}, time.Time{}, ""
			r.dirty[i] = true
		}
	}
}

// happened takes one journal event.
func (r *Run) happened(e *Event, seq id.Seq, at time.Time) error {
	if (e.Type == EventOpened) != (r.position == 0) {
		return fmt.Errorf("%s: the journal begins with opened, once", e.Type)
	}
	if r.ended != nil {
		return fmt.Errorf("%s: the run had ended", e.Type)
	}
	if r.state == nil && e.Type != EventOpened && e.Type != EventEntered {
		return fmt.Errorf("%s: before the first state entry", e.Type)
	}
	var err error
	switch e.Type {
	case EventOpened:
		if e.Digest != r.def.digest {
			err = fmt.Errorf("opened: the record names definition %s, this one is %s", e.Digest, r.def.digest)
		}
	case EventEntered:
		err = r.enter(e, seq, at)
	case EventFired:
		if e.Transition == nil || e.From != r.state.Name || *e.Transition < 0 || *e.Transition >= len(r.state.Transitions) {
			return fmt.Errorf("fired: no such transition of state %q", r.state.Name)
		}
		r.fired[r.state.index][*e.Transition]++
		r.transitions++
	case EventSent, EventSettled:
		err = r.summonsEvent(e, at)
	case EventEnded:
		r.ended = &End{Seq: seq, Reason: e.Reason, Terminal: e.Reason == ReasonTerminal, State: e.State, Message: e.Message, Guards: e.Guards}
		r.overtake()
	case EventMigrated:
		err = r.migrated(e, at)
	default:
		err = fmt.Errorf("unknown event %q", e.Type)
	}
	if err == nil {
		r.position = seq
	}
	return err
}

// enter moves to a state and, when the state waits for somebody, summons its agents
// (M8). A state that waits for nobody is left, or ends the run, in the same step.
func (r *Run) enter(e *Event, seq id.Seq, at time.Time) error {
	s, ok := r.def.states[e.State]
	if !ok {
		return fmt.Errorf("entered: no state %q", e.State)
	}
	r.state = s
	r.entry++
	r.entered = seq
	r.entries[s.index]++
	r.exchanges = 0
	clear(r.exchangesBy)
	r.forget()
	r.overtake()
	if s.Terminal || r.satisfied() {
		return nil
	}
	for i := range s.asked {
		k := &s.asked[i]
		if len(k.optional) > 0 || r.owes(k) {
			r.summon(k.agent, at)
		}
	}
	return nil
}

// summonsEvent takes a sent or settled event.
func (r *Run) summonsEvent(e *Event, at time.Time) error {
	a, ok := r.def.agents[e.Agent]
	if !ok {
		return fmt.Errorf("%s: no agent %q", e.Type, e.Agent)
	}
	s := &r.rows[a.index]
	if s.Entry != r.entry || e.Entry != r.entry || s.Attempt != e.Attempt {
		return fmt.Errorf("%s: agent %q has no attempt %d in state entry %d", e.Type, e.Agent, e.Attempt, e.Entry)
	}
	r.dirty[a.index] = true
	if e.Type == EventSent {
		if s.Status != Pending {
			return fmt.Errorf("sent: attempt %d of agent %q is %s", e.Attempt, e.Agent, s.Status)
		}
		s.Status, s.SentAt, s.Due = Sent, at, time.Time{}
		s.Generation++
		r.exchanges++
		r.exchangesBy[a.index]++
		return nil
	}
	if s.Status != Sent || e.Acknowledged == nil || e.Met == nil {
		return fmt.Errorf("settled: attempt %d of agent %q is %s", e.Attempt, e.Agent, s.Status)
	}
	s.LeaseUntil, s.Holder, s.Failure = time.Time{}, "", e.Failure
	switch {
	case *e.Acknowledged && *e.Met:
		s.Status = Settled
		return nil
	case *e.Acknowledged:
		s.Due, s.Failure = at, "acknowledged with its required entry missing"
	default:
		s.Due = at.Add(backoff(s.Attempt))
	}
	s.Status, s.SentAt = Pending, time.Time{}
	s.Attempt++
	return nil
}

// forget begins a state entry without remembered elements. Clearing a map costs
// what it once held, so a large one is replaced.
func (r *Run) forget() {
	if len(r.seen) > 64 {
		r.seen = map[element]id.Seq{}
		return
	}
	clear(r.seen)
}
