package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// decision is one step being decided. Each record is applied to the run as it is
// made, so what follows sees it.
type decision struct {
	Step
	run   *Run
	next  id.Seq
	now   time.Time
	cause id.Seq // the step's first record
	cost  uint64 // of the guards evaluated so far
}

// decide begins a step. A sequence number that does not follow the run's position
// is a defect of the caller: the run is not a fold of that board.
func (r *Run) decide(next id.Seq, now time.Time) *decision {
	if next <= 0 || r.position > 0 && next != r.position+1 {
		panic(fmt.Sprintf("machine: next sequence number %d after position %d", next, r.position))
	}
	r.overtaken = r.overtaken[:0]
	return &decision{run: r, next: next, now: now, cause: next}
}

// take gives a record its number.
func (d *decision) take(rec Record) id.Seq {
	rec.Seq = d.next
	d.next++
	d.Records = append(d.Records, rec)
	return rec.Seq
}

// event records and applies one journal event.
func (d *decision) event(e *Event) id.Seq {
	seq := d.take(Record{Region: JournalRegion, Kind: wire.Level, Writer: Writer, Content: e.content()})
	if err := d.run.happened(e, seq, d.now); err != nil {
		panic(fmt.Sprintf("machine: own event: %v", err))
	}
	return seq
}

// finish closes the step.
func (d *decision) finish() Step {
	r := d.run
	d.Checkpoint = d.Checkpoint || r.transitions-r.saved.transitions >= r.def.Policy.CheckpointEvery ||
		r.position-r.saved.position >= CheckpointWrites
	return d.Step
}

// Open opens the run: it enters the initial state and takes microsteps until the
// run waits for somebody or ends.
func (r *Run) Open(next id.Seq, now time.Time) Step {
	d := r.decide(next, now)
	d.event(&Event{Type: EventOpened, Digest: r.def.digest, Name: r.def.Name, Version: r.def.Version})
	d.enter(r.def.states[r.def.Initial])
	d.microsteps()
	return d.finish()
}

// enter records a state entry and ends the run where the entry itself does.
func (d *decision) enter(s *State) {
	r := d.run
	seq := d.event(&Event{Type: EventEntered, State: s.Name, Entry: r.entry + 1, Cause: d.cause})
	d.Entered = append(d.Entered, Entered{Seq: seq, State: s.Name, Entry: r.entry})
	switch again := r.entries[s.index] - 1; {
	case s.Terminal:
		d.end(&Event{Reason: ReasonTerminal, Message: fmt.Sprintf("state %q is terminal", s.Name)})
	case again > r.def.Policy.MaxIterations:
		d.end(&Event{Reason: ReasonMaxIterations, Message: fmt.Sprintf("state %q was entered %d times after its first, policy allows %d",
			s.Name, again, r.def.Policy.MaxIterations)})
	}
}

// end records the run's end; the caller sets reason, message and what explains it.
func (d *decision) end(e *Event) {
	e.Type, e.State, e.Entry, e.Cause = EventEnded, d.run.state.Name, d.run.entry, d.cause
	d.event(e)
	d.Ended = d.run.ended
	writer := d.Records[0].Writer
	for _, i := range d.run.overtaken {
		if name := d.run.def.Agents[i].Name; name != writer {
			d.Unfinished = append(d.Unfinished, name)
		}
	}
}

// microsteps takes transitions until the run waits for an entry or ends (M5).
func (d *decision) microsteps() {
	r := d.run
	for n := 0; r.ended == nil && r.satisfied(); n++ {
		if n == MaxMicrosteps {
			d.end(&Event{Reason: ReasonMicrostepLimit, Message: fmt.Sprintf("one input caused %d transitions, the limit", n)})
			return
		}
		open, guards := d.choose()
		if r.ended != nil {
			return
		}
		if open < 0 {
			d.end(&Event{Reason: ReasonStuck, Guards: guards,
				Message: fmt.Sprintf("state %q has every required entry and no transition is open", r.state.Name)})
			return
		}
		d.fire(open, guards)
	}
}

// choose returns the first transition whose guards all hold, or -1, and every
// guard evaluated on the way. A guard that errs, or costs too much, ends the run.
func (d *decision) choose() (int, []GuardResult) {
	r := d.run
	var guards []GuardResult
	for i := range r.state.Transitions {
		t := &r.state.Transitions[i]
		open := true
		for j := range t.Guards {
			g := &t.Guards[j]
			result, cost, err := g.program.eval(&r.vars)
			d.cost += cost
			if err == nil && d.cost > GuardCostLimit {
				result, err = false, errCost
			}
			res := GuardResult{Transition: i, To: t.To, Expression: g.Expression, Result: result}
			if err != nil {
				res.Error = strings.ToValidUTF8(err.Error(), "\uFFFD")
			}
			guards = append(guards, res)
			switch {
			case errors.Is(err, errCost):
				d.end(&Event{Reason: ReasonGuardCostLimit, Guards: guards,
					Message: fmt.Sprintf("the guards of one input cost more than %d units", GuardCostLimit)})
				return -1, guards
			case err != nil:
				d.end(&Event{Reason: ReasonGuardError, Guards: guards,
					Message: fmt.Sprintf("guard %q of the transition to %q fails: %s", g.Expression, t.To, res.Error)})
				return -1, guards
			}
			if open = result; !open {
				break
			}
		}
		if open {
			return i, guards
		}
	}
	return -1, guards
}

// fire takes a transition: the event, its actions in order, the next state.
func (d *decision) fire(index int, guards []GuardResult) {
	r := d.run
	t := &r.state.Transitions[index]
	from := r.state.Name
	d.Records = slices.Grow(d.Records, 2+len(t.Actions))
	seq := d.event(&Event{Type: EventFired, From: from, To: t.To, Transition: &index, Entry: r.entry, Cause: d.cause, Guards: guards})
	d.Fired = append(d.Fired, Fired{Seq: seq, From: from, To: t.To, Transition: index, Guards: guards})
	for i := range t.Actions {
		d.act(&t.Actions[i])
	}
	d.enter(t.to)
}

// act carries out one onTransition action. What would change nothing is not
// recorded.
func (d *decision) act(a *Action) {
	r := d.run
	c := &r.cells[a.field.index]
	if a.Kind == Remove {
		if c.has(a.Key) {
			r.position = d.take(Record{Region: a.Field, Kind: wire.Level, Writer: Writer, Content: tombstone(a.Key)})
			c.remove(a.Key)
		}
		return
	}
	if !a.value.present() && !c.present() {
		return
	}
	rec := Record{Region: a.Field, Kind: wire.Premise, Version: c.version + 1, Writer: Writer}
	it := item{at: d.now, writer: Writer, val: a.value}
	if a.value.present() {
		rec.Content, rec.Blobs = a.value.json(), a.value.blobs(a.field.Type)
	}
	it.seq = d.take(rec)
	c.set(it, rec.Version)
	r.position = it.seq
}

// tombstone is the content of the record that removes a key, or all keys.
func tombstone(key string) json.RawMessage {
	return append(append([]byte(`{"remove":`), quote(key)...), '}')
}
