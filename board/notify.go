package board

import (
	"slices"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// wake records the intent to tell every agent that the write put out of date
// (B8 to B10): a pending half that is there keeps the earlier of the two instants.
func (s *State) wake(r *Region, writer string, at time.Time) {
	if s.row.Run == nil {
		return
	}
	due := at.Add(r.Window)
	for _, a := range s.woken(r) {
		name := a.Name
		if name == writer {
			continue
		}
		o := s.outbox[name]
		switch {
		case o == nil:
			s.outbox[name] = &Outbox{Agent: name, Due: due}
		case o.Due.IsZero() || due.Before(o.Due):
			o.Due = due
		default:
			continue
		}
		s.touchOutbox(name)
		s.lowerDue(due)
	}
}

// woken are the agents that a write into the region wakes, by name. They are found
// once: what an agent subscribes to stays as it was declared.
func (s *State) woken(r *Region) []*Agent {
	if found, ok := s.wakes[r.Name]; ok {
		return found
	}
	var found []*Agent
	for _, a := range s.agents {
		if a.wakes(r) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b *Agent) int { return compare(a.Name, b.Name) })
	if s.wakes == nil {
		s.wakes = map[string][]*Agent{}
	}
	s.wakes[r.Name] = found
	return found
}

// lowerDue moves the sweep's bound forward in time, never back.
func (s *State) lowerDue(at time.Time) {
	if at.IsZero() || (!s.row.Due.IsZero() && !at.Before(s.row.Due)) {
		return
	}
	s.row.Due = at
	s.changed = true
}

// settleDue sets the sweep's bound to the next instant at which there is something
// to do.
func (s *State) settleDue() {
	var due time.Time
	earliest := func(at time.Time) {
		if !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	if run := s.row.Run; run != nil {
		earliest(run.IdleAt())
		earliest(run.WallAt)
	}
	for _, o := range s.outbox {
		if o.Claim != "" {
			earliest(o.Lease)
		} else {
			earliest(o.Due)
		}
	}
	if !due.Equal(s.row.Due) {
		s.row.Due = due
		s.changed = true
	}
}

// Due reports whether the outbox has something to send at now, and otherwise when
// it next will have; zero means that nothing waits.
func (s *State) Due(now time.Time) (bool, time.Time) {
	now = s.stamp(now)
	var next time.Time
	for _, o := range s.outbox {
		at := o.Due
		if o.Claim != "" {
			at = o.Lease
		}
		if at.IsZero() {
			continue
		}
		if !now.Before(at) {
			return true, now
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return false, next
}

// Claimed is a notification that the claimer must send and then settle.
type Claimed struct {
	Claim        string
	Address      string
	Notification wire.Notification
	// Tries counts how often the range was claimed, this time included.
	Tries int
}

// Claim takes what is due for the agents that reach accepts (decision 9): the range
// ends at the board's head, what was pending is in flight under a fresh claim until
// lease has passed. Sending follows the commit. Agents are claimed in order of name.
func (s *State) Claim(env Env, lease time.Duration, reach func(*Agent) bool) []Claimed {
	now := s.stamp(env.Now)
	var names []string
	for name, o := range s.outbox {
		pending := !o.Due.IsZero() && !now.Before(o.Due)
		lapsed := o.Claim != "" && !now.Before(o.Lease)
		if (pending && o.Claim == "") || lapsed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []Claimed
	for _, name := range names {
		a, o := s.agents[name], s.outbox[name]
		if !reach(a) {
			continue
		}
		if c, ok := s.claim(env, a, o, now.Add(lease)); ok {
			out = append(out, c)
		}
	}
	if len(names) > 0 {
		s.settleDue()
	}
	return out
}

func (s *State) claim(env Env, a *Agent, o *Outbox, lease time.Time) (Claimed, bool) {
	from := a.Told + 1
	if o.Claim != "" {
		from = o.From
	}
	var regions []string
	for name, r := range s.regions {
		if a.wakes(r) && r.changedFor(a.Name) >= from {
			regions = append(regions, name)
		}
	}
	if len(regions) == 0 {
		// All that was pending was told meanwhile.
		s.dropOutbox(a.Name)
		return Claimed{}, false
	}
	slices.Sort(regions)
	o.Claim, o.From, o.To, o.Regions, o.Lease = env.NewID(), from, s.row.Head, regions, lease
	o.Due = time.Time{}
	o.Tries++
	s.touchOutbox(a.Name)
	if a.Told < o.To {
		a.Told = o.To
		s.touchAgent(a.Name)
	}
	return Claimed{Claim: o.Claim, Address: a.Address, Tries: o.Tries, Notification: wire.Notification{
		Board: s.row.Ref.Board, Agent: a.Name, From: o.From, To: o.To, Regions: regions}}, true
}

// Settlement says what became of a claimed notification.
type Settlement struct {
	Agent string
	Claim string
	// RetryIn, when positive, is after how long the range is to be sent again;
	// otherwise what was in flight is done with, because it was sent or given up.
	RetryIn time.Duration
}

// Settle ends a claim. A claim that lapsed and was taken by another relay is left
// alone, so settling twice or late changes nothing.
func (s *State) Settle(env Env, settled Settlement) {
	o := s.outbox[settled.Agent]
	if o == nil || o.Claim != settled.Claim {
		return
	}
	switch {
	case settled.RetryIn > 0:
		o.Lease = s.stamp(env.Now).Add(settled.RetryIn)
		s.touchOutbox(o.Agent)
	case o.Due.IsZero():
		s.dropOutbox(o.Agent)
	default:
		*o = Outbox{Agent: o.Agent, Due: o.Due}
		s.touchOutbox(o.Agent)
	}
	s.settleDue()
}

// Acknowledge moves an agent's cursor to the end of a range it was told of (B11).
// It covers every range that ends at or before that position and never touches the
// outbox. A late acknowledgment changes nothing; one of a position that the agent
// was never told of is refused NEVER_NOTIFIED.
func (s *State) Acknowledge(env Env, agent string, through id.Seq) error {
	if !s.found {
		return s.unknown()
	}
	if err := s.open(env); err != nil {
		return err
	}
	a := s.agents[agent]
	if a == nil {
		return refusal.New(refusal.UnknownAgent, agent, "no agent %q is registered on this run", agent).
			WithFix("register it first")
	}
	if through > a.Told || through < 1 {
		return refusal.New(refusal.NeverNotified, agent, "agent %q acknowledges position %d and was told only up to %d", agent, through, a.Told).
			WithFix("acknowledge the end of a range that a notification carried").With("told", a.Told)
	}
	if through <= a.Cursor {
		return nil
	}
	a.Cursor = through
	s.touchAgent(agent)
	now := s.stamp(env.Now)
	s.row.Run.Activity, s.row.Latest = now, now
	return nil
}
