package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// MaxFailure is how much of a failure's text the journal keeps, in characters.
const MaxFailure = 1000

// when is the instant from which a summons may be claimed, if it ever may.
func (r *Run) when(s *Summons) (time.Time, bool) {
	if r.ended != nil || r.state == nil || s.Entry != r.entry {
		return time.Time{}, false
	}
	switch s.Status {
	case Pending:
		return s.Due, true
	case Sent:
		return s.LeaseUntil, true
	}
	return time.Time{}, false
}

// Due are copies of the summonses that may be claimed now: pending and due, or sent
// with a lease that ran out. The longest due come first, then the document's order.
func (r *Run) Due(now time.Time) []*Summons {
	var out []*Summons
	for i := range r.rows {
		if at, ok := r.when(&r.rows[i]); ok && !at.After(now) {
			s := r.rows[i]
			out = append(out, &s)
		}
	}
	slices.SortStableFunc(out, func(a, b *Summons) int {
		x, _ := r.when(a)
		y, _ := r.when(b)
		return x.Compare(y)
	})
	return out
}

// NextDue is the earliest instant at which a summons may be claimed; false when
// there is none.
func (r *Run) NextDue() (time.Time, bool) {
	var first time.Time
	found := false
	for i := range r.rows {
		if at, ok := r.when(&r.rows[i]); ok && (!found || at.Before(first)) {
			first, found = at, true
		}
	}
	return first, found
}

// Claim takes the agent's summons for a holder until now+lease, under a new
// generation. The first claim of an attempt is recorded as sent and counts as an
// exchange; where that would pass a bound, the run ends instead, Step.Ended is set
// and the summons is nil (M10). A summons that is not to be claimed now is refused
// STALE_SUMMONS.
func (r *Run) Claim(agent string, now time.Time, lease time.Duration, holder string, next id.Seq) (Step, *Summons, *refusal.Refusal) {
	if no := r.closed(); no != nil {
		return Step{}, nil, no
	}
	a, ok := r.def.agents[agent]
	if !ok {
		return Step{}, nil, r.stale(agent)
	}
	s := &r.rows[a.index]
	at, ok := r.when(s)
	if !ok {
		return Step{}, nil, r.stale(agent)
	}
	if at.After(now) {
		return Step{}, nil, refusal.New(refusal.StaleSummons, agent, "the summons of agent %q is not to be claimed before %s",
			agent, at.UTC().Format(time.RFC3339Nano)).With("due", at)
	}
	var step Step
	if s.Status == Pending {
		if step = r.send(a, next, now); step.Ended != nil {
			return step, nil, nil
		}
	} else {
		s.Generation++
	}
	s.LeaseUntil, s.Holder = now.Add(lease), holder
	r.dirty[a.index] = true
	taken := *s
	return step, &taken, nil
}

// send records that an attempt is sent for the first time, or that a bound forbids it.
func (r *Run) send(a *Agent, next id.Seq, now time.Time) Step {
	d := r.decide(next, now)
	s := &r.rows[a.index]
	p := &r.def.Policy
	reason, limit := "", 0
	switch {
	case r.exchanges >= p.MaxExchangesPerStage:
		reason, limit = ReasonExchangesPerStage, p.MaxExchangesPerStage
	case r.exchangesBy[a.index] >= p.MaxExchangesPerAgentPerStage:
		reason, limit = ReasonExchangesPerAgentStage, p.MaxExchangesPerAgentPerStage
	}
	if reason == "" {
		d.event(&Event{Type: EventSent, Agent: a.Name, Entry: s.Entry, Attempt: s.Attempt})
		return d.finish()
	}
	d.end(&Event{Reason: reason, Agent: a.Name, Attempt: s.Attempt,
		Message: fmt.Sprintf("state %q: a summons of agent %q would pass the limit of %d", r.state.Name, a.Name, limit)})
	return d.finish()
}

// held finds the summons that an agent holds under a generation.
func (r *Run) held(agent string, generation int64) (*Summons, *refusal.Refusal) {
	if no := r.closed(); no != nil {
		return nil, no
	}
	a, ok := r.def.agents[agent]
	if !ok {
		return nil, r.stale(agent)
	}
	s := &r.rows[a.index]
	if s.Entry != r.entry || s.Status != Sent || s.Generation != generation {
		return nil, r.stale(agent)
	}
	return s, nil
}

// Renew extends the lease of a claim to now+lease, and never shortens it.
// STALE_SUMMONS when the claim is not current.
func (r *Run) Renew(agent string, generation int64, now time.Time, lease time.Duration) *refusal.Refusal {
	s, no := r.held(agent, generation)
	if no != nil {
		return no
	}
	s.LeaseUntil = latest(s.LeaseUntil, now.Add(lease))
	r.dirty[r.def.agents[agent].index] = true
	return nil
}

// Release makes a claimed summons claimable at once, in the same attempt: its
// holder is known to be dead. The claim may write until it is claimed again.
// STALE_SUMMONS when the claim is not current.
func (r *Run) Release(agent string, generation int64, now time.Time) *refusal.Refusal {
	s, no := r.held(agent, generation)
	if no != nil {
		return no
	}
	s.LeaseUntil, s.Holder = now, ""
	r.dirty[r.def.agents[agent].index] = true
	return nil
}

// Settle ends a claim. Acknowledged with every required entry there, the summons is
// settled. Acknowledged without, the agent is asked again at once; not acknowledged,
// after a backoff of 200 ms times the attempt, at most 5 s: both as a new attempt,
// until a bound ends the run. STALE_SUMMONS when the claim is not current.
func (r *Run) Settle(s Settlement, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	row, no := r.held(s.Agent, s.Generation)
	if no != nil {
		return Step{}, no
	}
	return r.settle(row, s, next, now), nil
}

func (r *Run) settle(row *Summons, s Settlement, next id.Seq, now time.Time) Step {
	d := r.decide(next, now)
	k := r.asks(r.def.agents[row.Agent].index)
	e := &Event{Type: EventSettled, Agent: row.Agent, Entry: row.Entry, Attempt: row.Attempt,
		Acknowledged: ptr(s.Acknowledged), Met: ptr(k == nil || !r.owes(k))}
	if !s.Acknowledged {
		e.Failure = cut(strings.ToValidUTF8(s.Failure, "\uFFFD"), MaxFailure)
	}
	d.event(e)
	return d.finish()
}

// cut keeps the first most characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}

// SummonsRows are the rows of every agent that was ever summoned, in the document's
// order.
func (r *Run) SummonsRows() []Summons {
	out := []Summons{}
	for _, s := range r.rows {
		if s.Entry > 0 {
			out = append(out, s)
		}
	}
	return out
}

// DirtySummons are the rows that changed since it was last called. The caller
// stores them in the transaction of the decision that changed them.
func (r *Run) DirtySummons() []Summons {
	var out []Summons
	for i, s := range r.rows {
		if r.dirty[i] && s.Entry > 0 {
			out = append(out, s)
		}
		r.dirty[i] = false
	}
	return out
}

// RestoreSummons puts back what the journal does not hold: generation, lease,
// holder and due. Call it once, after the run was restored and folded. Where a row
// and the journal disagree on the attempt or its status, the journal wins.
func (r *Run) RestoreSummons(rows []Summons) {
	for _, row := range rows {
		a, ok := r.def.agents[row.Agent]
		if !ok {
			continue
		}
		s := &r.rows[a.index]
		s.Generation = max(s.Generation, row.Generation)
		if s.Entry == row.Entry && s.Attempt == row.Attempt && s.Status == row.Status {
			s.Due, s.LeaseUntil, s.SentAt, s.Holder, s.Failure = row.Due, row.LeaseUntil, row.SentAt, row.Holder, row.Failure
		}
	}
	clear(r.dirty)
}
