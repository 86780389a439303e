package sim

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// survey is the machine that runs: three look around, one of them concludes, and it
// begins anew until somebody is content or a bound is reached.
const survey = `
fsm:
  name: survey
  version: 1
  initialState: look
  context:
    seen:   { type: list, of: string }
    views:  { type: map, of: string }
    rounds: { type: integer }
    end:    { type: enum, values: [content, again, sideways] }
    report: { type: string }
  agents:
    chief: { canTransition: [look, conclude, report] }
    left:  { canTransition: [look] }
    right: { canTransition: [look] }
  states:
    look:
      description: "Look around. Seen so far: {{ context.seen }}."
      requires:
        - { name: seen,  from: { agent: left }, required: false }
        - { name: views, from: { agent: left } }
        - { name: views, from: { agent: right } }
        - { name: views, from: { agent: chief }, required: false }
      transitions: [ { toState: conclude } ]
    conclude:
      description: "Conclude from {{ context.views }}."
      requires:
        - { name: rounds, from: { agent: chief }, required: false }
        - { name: end,    from: { agent: chief } }
      transitions:
        - { toState: report, guards: [ { backend: cel, expression: "context.end == 'content' || context.rounds > 90" } ] }
        - toState: look
          guards: [ { backend: cel, expression: "context.end == 'again'" } ]
          onTransition: [ { remove: { views: "*" } }, { assign: { end: "" } } ]
    report:
      description: "Report."
      requires: [ { name: report, from: { agent: chief } } ]
      transitions: [ { toState: over } ]
    over: { description: "Over.", terminal: true }
  policy: { maxIterations: 4, maxExchangesPerStage: 12, maxExchangesPerAgentPerStage: 5, checkpointEvery: 2 }
`

var surveyDefinition = func() *machine.Definition {
	def, err := machine.Load("survey.yaml", []byte(survey))
	if err != nil {
		panic(err)
	}
	return def
}()

var patience = map[string]time.Duration{"chief": 20 * time.Second, "left": 20 * time.Second, "right": 5 * time.Second}

// errand is one machine run.
type errand struct {
	ref id.Ref
	// generations are the newest claims that anybody was told of.
	generations map[string]int64
	// writes are by what makes them one write: whoever makes an attempt again after its
	// holder died writes the same.
	writes map[string]*contribution
	order  []*contribution
	over   bool
}

// contribution is one write of an agent as its program knows it.
type contribution struct {
	agent, field, value string
	seq                 id.Seq
	maybe               bool
}

// worker is an agent's program at work on a summons, in one process.
type worker struct {
	e       *errand
	sum     wire.Summons
	surface *machines.Surface
	// open is a write whose answer was lost; it is made again before any other.
	open *contribution
	// wrote counts what it wrote, by field.
	wrote map[string]int
}

// machine does something about a machine: opens one, claims, or works.
func (p *proc) machine() {
	s := p.s
	var live []*errand
	for _, e := range s.machines {
		if !e.over {
			live = append(live, e)
		}
	}
	switch n := s.rng.IntN(100); {
	case len(live) < 2 && len(s.machines) < 8 && n < 50 || len(live) == 0 && len(s.machines) < 8:
		e := &errand{ref: id.Ref{Tenant: "north", Board: id.Board(fmt.Sprintf("survey-%d", len(s.machines)+1))}, generations: map[string]int64{}, writes: map[string]*contribution{}}
		s.machines = append(s.machines, e)
		s.watch(e.ref, true)
		p.openErrand(e)
	case len(live) == 0:
	case n < 80 && len(p.workers) > 0:
		p.work(p.workers[s.rng.IntN(len(p.workers))])
	case n < 84:
		p.openErrand(pick(s, live))
	default:
		p.claim(pick(s, live))
	}
}

func (p *proc) openErrand(e *errand) {
	p.run("opens "+e.ref.String(), func() {
		st := p.st
		_, err := p.machines.Open(p.s.ctx, p.who(e.ref, "maker"), e.ref.Board, surveyDefinition, wire.RunLimits{Idle: 3 * time.Hour})
		p.expected("opens "+e.ref.String(), st, err)
	})
}

// workCodes are refusals that a program may meet whatever it does.
var workCodes = []refusal.Code{refusal.StaleSummons, refusal.RunClosed, refusal.NoMachine, refusal.UnknownBoard}

func (p *proc) claim(e *errand) {
	p.run("claims on "+e.ref.String(), func() {
		s, st := p.s, p.st
		c, err := p.machines.Claim(s.ctx, p.who(e.ref, "runner"), e.ref.Board, p.name, patience)
		if p.expected("claims", st, err, refusal.NoMachine, refusal.UnknownBoard, refusal.RunClosed); err != nil || st.Dead() {
			return
		}
		if c.Ended != nil || c.Outcome != nil {
			if !e.over {
				e.over = true
				s.stats.Ended++
			}
			return
		}
		for _, sum := range c.Summons {
			if sum.Generation <= e.generations[sum.Agent] {
				s.fail("%s: agent %s is summoned under generation %d after %d", e.ref, sum.Agent, sum.Generation, e.generations[sum.Agent])
			}
			e.generations[sum.Agent] = sum.Generation
			p.workers = append(p.workers, &worker{e: e, sum: sum, wrote: map[string]int{}, surface: p.machines.Surface(p.who(e.ref, sum.Agent), e.ref.Board, &sum)})
		}
	})
}

// work lets a program do one thing: write what it is asked for, write what it may
// not, say that it is done or that it failed, or vanish.
func (p *proc) work(w *worker) {
	s := p.s
	name := fmt.Sprintf("%s of %s, generation %d", w.sum.Agent, w.e.ref, w.sum.Generation)
	switch n := s.rng.IntN(100); {
	case w.open != nil && n < 80:
		p.contribute(w, name, w.open)
	case (n < 30 || n < 75 && len(w.wrote) == 0) && len(w.sum.Requirements) > 0:
		r := pick(s, w.sum.Requirements)
		p.contribute(w, name, w.next(r))
	case n < 80:
		p.garbage(w, name)
	case n < 85:
		p.drop(w) // it is killed and nobody notices
		s.note("%s vanishes", name)
	case n < 88:
		p.drop(w)
		p.run("gives back "+name, func() {
			st := p.st
			p.expected("gives back", st, p.machines.Release(s.ctx, p.who(w.e.ref, "runner"), w.e.ref.Board, w.sum.Agent, w.sum.Generation), workCodes...)
		})
	default:
		p.drop(w)
		done := machine.Settlement{Agent: w.sum.Agent, Generation: w.sum.Generation, Acknowledged: !s.chance(4), Failure: "fell over"}
		p.run("settles "+name, func() {
			st := p.st
			p.expected("settles", st, p.machines.Settle(s.ctx, p.who(w.e.ref, "runner"), w.e.ref.Board, done), workCodes...)
		})
	}
}

// next is what a program writes to a field at this point of its work. It depends on
// nothing but what it was asked and how often it wrote the field.
func (w *worker) next(r wire.Requirement) *contribution {
	at := fmt.Sprintf("view of %s %d/%d/%s/%d", w.sum.Agent, w.sum.Entry, w.sum.Attempt, r.Field, w.wrote[r.Field]+1)
	c := w.e.writes[at]
	if c == nil {
		c = &contribution{agent: w.sum.Agent, field: r.Field, value: at}
		draw := crc32.ChecksumIEEE([]byte(at + string(w.e.ref.Board)))
		switch {
		case len(r.Values) > 0:
			c.value = r.Values[int(draw)%len(r.Values)]
		case r.Type == "integer":
			c.value = fmt.Sprint(draw % 100)
		}
		w.e.writes[at] = c
		w.e.order = append(w.e.order, c)
	}
	return c
}

func (p *proc) drop(w *worker) {
	for i := range p.workers {
		if p.workers[i] == w {
			p.workers = append(p.workers[:i], p.workers[i+1:]...)
			return
		}
	}
}

func (p *proc) contribute(w *worker, name string, c *contribution) {
	p.run(fmt.Sprintf("writes %s=%q as %s", c.field, c.value, name), func() {
		s, st := p.s, p.st
		var value any = c.value
		if c.field == "rounds" {
			value = json.RawMessage(c.value)
		}
		u, err := w.surface.UpdateContext(s.ctx, c.field, value)
		if maybe := p.expected("writes", st, err, append(workCodes, refusal.ValidateFailed, refusal.WrongType, refusal.NotInEnum, refusal.NoTransitionRole)...); err != nil || st.Dead() {
			c.maybe = c.maybe || maybe || st.Dead()
			w.open = nil
			if c.maybe {
				w.open = c
			}
			return
		}
		w.open = nil
		w.wrote[c.field]++
		s.stats.Contributions++
		if newest := w.e.generations[w.sum.Agent]; !u.Repeated && w.sum.Generation < newest {
			s.fail("%s wrote %s although generation %d is at work", name, c.field, newest)
		}
		if u.Repeated && !c.maybe && c.seq == 0 && strings.HasPrefix(c.value, "view") {
			s.fail("%s: %s=%q was answered as a repeat the first time", name, c.field, c.value)
		}
		if u.Differs || c.seq != 0 && c.seq != u.Seq {
			s.fail("%s: %s=%q was acknowledged at %d and then as %+v", name, c.field, c.value, c.seq, u)
		}
		c.seq, c.maybe = u.Seq, false
		entries, _, err := s.raw.Entries(s.ctx, w.e.ref, board.EntryQuery{After: u.Seq - 1, Limit: 1})
		if err != nil || len(entries) != 1 || entries[0].Seq != u.Seq || entries[0].Region != c.field || entries[0].Writer != c.agent || !strings.Contains(string(entries[0].Content), c.value) {
			s.fail("%s: %s=%q was acknowledged at %d, where there is %+v (%v)", name, c.field, c.value, u.Seq, entries, err)
		}
	})
}

// garbage is what must be refused whoever sends it.
func (p *proc) garbage(w *worker, name string) {
	s := p.s
	kind := s.rng.IntN(4)
	p.run(fmt.Sprintf("writes nonsense %d as %s", kind, name), func() {
		st := p.st
		var u wire.Updated
		var err error
		switch kind {
		case 0:
			u, err = w.surface.UpdateContext(s.ctx, "nothing", "x")
		case 1:
			u, err = w.surface.UpdateContext(s.ctx, "end", "undecided")
		case 2:
			u, err = w.surface.UpdateContext(s.ctx, "seen", json.RawMessage(`{"not": "text"}`))
		case 3:
			u, err = w.surface.UpdateEntry(s.ctx, "views", "agent:somebody", "x")
		}
		switch {
		case err != nil:
		case u.Repeated:
			// Its place among the attempt's writes was taken by an earlier delivery.
			w.wrote[[]string{"nothing", "end", "seen", "views"}[kind]]++
		default:
			s.fail("%s: nonsense was taken", name)
		}
		p.expected("writes nonsense", st, err, append(workCodes, refusal.UndeclaredField, refusal.NotInEnum, refusal.WrongType, refusal.ForeignKey, refusal.NoTransitionRole)...)
	})
}
