package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/machine"
)

// sixFields is a machine with six fields that goes round for ever: list elements, a
// map entry that closes the state, and a decision by two guards that clears both.
const sixFields = `fsm:
  name: six
  version: 1
  initialState: gather
  context:
    incident: { type: string }
    facts:    { type: list, of: string, maxItems: %d }
    notes:    { type: map, of: string }
    score:    { type: number }
    count:    { type: integer }
    status:   { type: enum, values: [more, done] }
  agents:
    a: { canTransition: [gather, decide] }
  states:
    gather:
      description: "{{ context.incident }}"
      requires:
        - { name: facts, from: { agent: a }, required: false }
        - { name: notes, from: { agent: a } }
      transitions:
        - { toState: decide, guards: [ { expression: "size(context.facts) >= 0" } ] }
    decide:
      requires: [ { name: status, from: { agent: a } } ]
      transitions:
        - { toState: end, guards: [ { expression: "context.status == 'done'" } ] }
        - toState: gather
          guards: [ { expression: "context.status == 'more'" } ]
          onTransition: [ { remove: { notes: "*" } }, { assign: { status: "" } } ]
    end: { terminal: true }
  policy: { maxIterations: 2000000000 }
`

// loop drives a run of sixFields without a board.
type loop struct {
	run  *machine.Run
	next id.Seq
	at   time.Time
	n    int
	// added says that this round's element was written.
	added bool
	// took is told every step; nil keeps nothing.
	took func(machine.Step)
	// claimed is the summons that is held.
	claimed *machine.Summons
}

func newLoop(maxItems int) (*loop, error) {
	def, err := machine.Load("six.yaml", fmt.Appendf(nil, sixFields, maxItems))
	if err != nil {
		return nil, err
	}
	l := &loop{run: machine.New(def), next: 1, at: time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)}
	l.keep(l.run.Open(l.next, l.at))
	return l, nil
}

func (l *loop) keep(s machine.Step) {
	l.next += id.Seq(len(s.Records))
	if l.took != nil {
		l.took(s)
	}
}

// write writes one field, claiming the agent's summons first when there is a new one.
func (l *loop) write(field string, value json.RawMessage) error {
	l.at = l.at.Add(time.Microsecond)
	if s := l.claimed; s == nil || !l.run.Live(s.Agent, s.Entry, s.Attempt, s.Generation) {
		step, s, refused := l.run.Claim("a", l.at, time.Hour, "bench", l.next)
		if refused != nil {
			return refused
		}
		l.keep(step)
		held := *s
		l.claimed = &held
	}
	l.n++
	s := l.claimed
	step, refused := l.run.Write(machine.Write{Agent: s.Agent, Entry: s.Entry, Attempt: s.Attempt, Generation: s.Generation,
		Field: field, Value: value, IdemKey: fmt.Sprintf("%d/a/%d/%d", s.Entry, s.Attempt, l.n)}, l.next, l.at)
	if refused != nil {
		return refused
	}
	l.keep(step)
	return nil
}

// element appends one element to the list.
func (l *loop) element() error {
	return l.write("facts", fmt.Appendf(nil, `"fact number %d of the run"`, l.n))
}

// turn is one write of a round without the list: the map's entry, then the decision.
func (l *loop) turn() error {
	if l.run.State() == "gather" {
		return l.write("notes", json.RawMessage(`"what was found"`))
	}
	return l.write("status", json.RawMessage(`"more"`))
}

// round is one write of a round: an element, the map's entry, the decision.
func (l *loop) round() error {
	if l.run.State() == "gather" && !l.added {
		l.added = true
		return l.element()
	}
	l.added = false
	return l.turn()
}

// older is a loop with elements in its list and a history of writes.
func older(elements, writes int) (*loop, error) {
	l, err := newLoop(2_000_000_000)
	for i := 0; err == nil && i < elements; i++ {
		err = l.element()
	}
	for i := elements; err == nil && i < writes; i++ {
		err = l.turn()
	}
	return l, err
}

// reducerRows measure the machine's reducer alone: no board, no store.
func reducerRows(b *bench) error {
	history, err := older(0, 100_000)
	if err != nil {
		return err
	}
	list, err := older(10_000, 10_000)
	if err != nil {
		return err
	}
	// The rounds make lists longer, so that what begins short begins anew.
	fresh := func(n int) (time.Duration, error) {
		l, err := older(0, 0)
		if err != nil {
			return 0, err
		}
		return timed(l.round)(n)
	}
	ns, err := b.turns(51, 3000, fresh, timed(history.round), timed(list.round))
	if err != nil {
		return err
	}
	persec := perSecond(ns[0])
	b.add(row{what: "reducer step, 6-field context, pure: an element, a map entry that ends the state, a decision by two guards, in turn",
		target: "≥ 200,000/s", result: rate(persec) + b.busy(0), met: persec.median() >= 200_000})
	long := ns[1].over(ns[0])
	b.add(row{what: "the same after 100,000 writes", target: "flat: ≤ 1.2 × the start", result: rate(perSecond(ns[1])),
		floor: rate(persec), ratio: times(long), met: long.median() <= 1.2})
	long = ns[2].over(ns[0])
	b.add(row{what: "the same with a list of 10,000 elements", target: "flat: ≤ 1.2 × the start", result: rate(perSecond(ns[2])),
		floor: rate(persec), ratio: times(long), met: long.median() <= 1.2})
	return nil
}
