package machine

import (
	"fmt"
	"testing"
)

// machineOf is a machine of agents a and b, both allowed in states s and t, with
// the given context and states.
func machineOf(context, states string) string {
	return "fsm:\n  name: m\n  version: 1\n  initialState: s\n  context:\n" + context +
		"  agents: { a: { canTransition: [s] }, b: { canTransition: [s] } }\n  states:\n" + states +
		"    end: { terminal: true }\n  policy: { maxIterations: 1000000 }\n"
}

func TestEnds(t *testing.T) {
	heavy := "context.l.all(x, context.l.all(y, context.l.all(z, context.l.all(w, size(x + y + z + w) > 0))))"
	for _, c := range []struct {
		name, context, states string
		field                 string
		values                []any
		reason                string
	}{
		{"stuck", "    x: { type: string }\n", `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: end, guards: [ { expression: "context.x == 'go'" } ] } ]
`, "x", []any{"stay"}, ReasonStuck},
		{"guard error", "    l: { type: list, of: integer }\n", `    s:
      requires: [ { name: l, from: { agent: a } } ]
      transitions: [ { toState: end, guards: [ { expression: "context.l[0] / context.l[0] > 0" } ] } ]
`, "l", []any{0}, ReasonGuardError},
		{"no such key", "    m: { type: map, of: string }\n", `    s:
      requires: [ { name: m, from: { agent: a } } ]
      transitions: [ { toState: end, guards: [ { expression: "context.m['agent:b'] == 'x'" } ] } ]
`, "m", []any{"v"}, ReasonGuardError},
		{"microsteps", "    x: { type: string }\n", `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: p } ]
    p: { transitions: [ { toState: q, guards: [ { expression: "context.x != 'never'" } ] }, { toState: end } ] }
    q: { transitions: [ { toState: p } ] }
`, "x", []any{"v"}, ReasonMicrostepLimit},
		{"cost of one guard", "    l: { type: list, of: string }\n    x: { type: string }\n", fmt.Sprintf(`    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: end, guards: [ { expression: %q } ] } ]
`, heavy), "l", words(40), ReasonGuardCostLimit},
		{"cost of many guards", "    l: { type: list, of: string }\n    x: { type: string }\n", `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: p } ]
    p: { transitions: [ { toState: q, guards: [ { expression: "context.l.all(x, context.l.all(y, size(x + y) > 0))" } ] }, { toState: end } ] }
    q: { transitions: [ { toState: p } ] }
`, "l", words(100), ReasonGuardCostLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, load(t, machineOf(c.context, c.states)))
			b.claim("a")
			for _, v := range c.values {
				b.must("a", c.field, v)
			}
			if b.run.Ended() == nil {
				b.must("a", "x", "go on")
			}
			if b.last.Records[0].Writer != "a" {
				t.Error("the write is not kept")
			}
			b.wantEnd(c.reason)
		})
	}
}

func words(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = fmt.Sprint("word ", i)
	}
	return out
}

// TestOptionalOnly: a state that waits for nobody is passed through, or is stuck.
func TestOptionalOnly(t *testing.T) {
	states := `    s:
      requires: [ { name: l, from: agent, required: false } ]
      transitions: [ { toState: %s, guards: [ { expression: "size(context.l) == %d" } ] } ]
`
	b := open(t, load(t, machineOf("    l: { type: list, of: string }\n", fmt.Sprintf(states, "end", 0))))
	b.wantEnd(ReasonTerminal)
	b = open(t, load(t, machineOf("    l: { type: list, of: string }\n", fmt.Sprintf(states, "end", 1))))
	b.wantEnd(ReasonStuck)
	if len(b.run.SummonsRows()) != 0 {
		t.Error("somebody was summoned")
	}
}
