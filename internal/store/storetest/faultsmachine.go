package storetest

import (
	"strings"
	"time"

	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// errand is a machine that asks two agents, judges, and asks again or ends.
const errand = `
fsm:
  name: errand
  version: 1
  initialState: ask
  context:
    task:    { type: string }
    notes:   { type: list, of: string }
    votes:   { type: map, of: string }
    verdict: { type: enum, values: [done, again] }
  agents:
    ann: { canTransition: [ask, judge] }
    bob: { canTransition: [ask] }
  states:
    ask:
      description: "Ask."
      requires:
        - { name: notes, from: { agent: ann }, required: false }
        - { name: votes, from: { agent: ann } }
        - { name: votes, from: { agent: bob } }
      transitions: [ { toState: judge } ]
    judge:
      description: "Judge {{ context.votes }}."
      requires: [ { name: verdict, from: { agent: ann } } ]
      transitions:
        - { toState: finished, guards: [ { backend: cel, expression: "context.verdict == 'done'" } ] }
        - toState: ask
          guards: [ { backend: cel, expression: "context.verdict == 'again'" } ]
          onTransition: [ { remove: { votes: "*" } }, { assign: { verdict: "" } } ]
    finished: { description: "Over.", terminal: true }
  policy: { maxIterations: 3, maxExchangesPerStage: 20, maxExchangesPerAgentPerStage: 10, checkpointEvery: 1 }
`

var errandDefinition, errandNext = define(errand), define(strings.Replace(errand, "version: 1", "version: 2", 1))

func define(text string) *machine.Definition {
	def, err := machine.Load("errand.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return def
}

var timeouts = map[string]time.Duration{"ann": time.Minute, "bob": time.Minute}

func open(p *process) error {
	_, err := p.machines.Open(bg, p.by("maker"), theBoard, errandDefinition, wire.RunLimits{WallClock: 24 * time.Hour})
	return err
}

// asked opens the machine, claims what is due and remembers the summons of an agent.
func asked(agent string) func(*process) {
	return func(p *process) {
		p.must(open(p))
		p.claim(agent)
	}
}

func (p *process) claim(agent string) {
	c, err := p.machines.Claim(bg, p.by("runner"), theBoard, "holder", timeouts)
	p.must(err)
	for i := range c.Summons {
		if c.Summons[i].Agent == agent {
			p.summons = &c.Summons[i]
			return
		}
	}
	p.Fatalf("agent %s is not summoned: %+v", agent, c)
}

// write writes under an agent's summons, as the first write of its attempt.
func (p *process) write(field, value string) error {
	_, err := p.machines.Surface(p.by(p.summons.Agent), theBoard, p.summons).UpdateContext(bg, field, value)
	return err
}

// judging brings the machine to the state in which ann judges.
func judging(p *process) {
	asked("ann")(p)
	p.must(p.write("votes", "yes"))
	c, err := p.machines.Replay(bg, p.by("runner"), theBoard, 0)
	p.must(err)
	for _, row := range c.SummonsRows() {
		if row.Agent == "bob" {
			p.summons = &wire.Summons{Agent: "bob", Entry: row.Entry, Attempt: row.Attempt, Generation: 1}
		}
	}
	p.must(p.write("votes", "no"))
	p.claim("ann")
}

func settle(p *process, s machine.Settlement) error {
	s.Agent, s.Generation = p.summons.Agent, p.summons.Generation
	return p.machines.Settle(bg, p.by("runner"), theBoard, s)
}

func machineScenarios() []scenario {
	stale := []refusal.Code{refusal.StaleSummons}
	return []scenario{
		{area: "machine", name: "open", prepare: func(p *process) { p.digest = errandDefinition.Digest() }, call: open},
		{area: "machine", name: "claim", prepare: func(p *process) { p.must(open(p)) }, call: func(p *process) error {
			_, err := p.machines.Claim(bg, p.by("runner"), theBoard, "holder", timeouts)
			return err
		}},
		{area: "machine", name: "append to a list", prepare: asked("ann"), call: func(p *process) error { return p.write("notes", "one") }},
		{area: "machine", name: "a write that is not the last one required", prepare: asked("bob"), call: func(p *process) error { return p.write("votes", "no") }},
		{area: "machine", name: "a write that moves the machine on", call: func(p *process) error { return p.write("verdict", "again") },
			prepare: judging},
		{area: "machine", name: "a write that ends the run", again: []refusal.Code{refusal.RunClosed}, prepare: judging,
			call: func(p *process) error { return p.write("verdict", "done") }},
		{area: "machine", name: "settle, acknowledged", again: stale, call: func(p *process) error { return settle(p, machine.Settlement{Acknowledged: true}) },
			prepare: func(p *process) { asked("bob")(p); p.must(p.write("votes", "no")) }},
		{area: "machine", name: "settle, failed", again: stale, prepare: asked("bob"),
			call: func(p *process) error { return settle(p, machine.Settlement{Failure: "lost its way"}) }},
		{area: "machine", name: "release", prepare: asked("bob"), call: func(p *process) error {
			return p.machines.Release(bg, p.by("runner"), theBoard, "bob", p.summons.Generation)
		}},
		{area: "machine", name: "migrate", prepare: func(p *process) { judging(p); p.digest = errandDefinition.Digest() }, call: func(p *process) error {
			_, err := p.machines.Migrate(bg, p.by("runner"), theBoard, errandNext)
			return err
		}},
		{area: "machine", name: "abort", prepare: judging, again: []refusal.Code{refusal.RunClosed}, call: func(p *process) error {
			_, err := p.boards.Abort(bg, p.by("carl"), theBoard, "enough")
			return err
		}},
		{area: "machine", name: "delete its board", prepare: judging, again: []refusal.Code{refusal.UnknownBoard},
			call: func(p *process) error { return p.boards.Delete(bg, p.by("carl"), theBoard) }},
		{area: "machine", name: "replay and verify", prepare: judging, reads: true, call: func(p *process) error {
			run, err := p.machines.Replay(bg, p.by("carl"), theBoard, 0)
			if err != nil {
				return err
			}
			v, err := p.machines.Verify(bg, p.by("carl"), theBoard)
			if err == nil && (run.State() != "judge" || v.Contributions != 2) {
				p.Fatalf("%s, %+v", run.State(), v)
			}
			return err
		}},
		{area: "machine", name: "its standing", prepare: judging, reads: true, call: func(p *process) error {
			s, err := p.machines.Surface(p.by("ann"), theBoard, p.summons).Standing(bg)
			if err == nil && (s.State != "judge" || !s.Live) {
				p.Fatalf("%+v", s)
			}
			return err
		}},
	}
}
