package machine

import (
	"fmt"
	"testing"
)

// TestGuards: what an expression sees of each type, set and absent.
func TestGuards(t *testing.T) {
	d := load(t, machineOf(`    x: { type: string }
    e: { type: enum, values: [p, q] }
    l: { type: list, of: integer }
    m: { type: map, of: number }
    o: { type: map, of: number }
    b: { type: boolean }
    n: { type: integer }
    f: { type: number }
    u: { type: blob }
`, `    s:
      requires: [ { name: x, from: { agent: a } }, { name: m, from: { agent: b } } ]
      transitions: [ { toState: end } ]
`))
	c, err := newCompiler(d.Fields)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, d)
	all := func(expressions ...string) {
		t.Helper()
		for _, e := range expressions {
			p, err := c.guard(e)
			if err != nil {
				t.Errorf("%s: %v", e, err)
				continue
			}
			if ok, cost, err := p.eval(&b.run.vars); !ok || err != nil || cost == 0 {
				t.Errorf("%s: %v, cost %d, %v", e, ok, cost, err)
			}
		}
	}
	all("context.x == '' && context.e == '' && context.u == ''", "context.l == [] && size(context.l) == 0", "size(context.m) == 0",
		"!context.b && context.n == 0 && context.f == 0.0", "!has(context.x) && !has(context.l) && !has(context.m) && !has(context.b)",
		"!('agent:b' in context.m)", "context.m == context.o", "context.m.all(k, false)", "!context.m.exists(k, true)")
	b.claim("a")
	b.claim("b")
	b.must("b", "m", 1.5)
	for i := range 3 {
		b.must("b", "l", i)
		if no := b.writeKey("b", "o", fmt.Sprint("k", 3-i), i); no != nil {
			t.Fatal(no)
		}
	}
	b.must("a", "e", "q")
	b.must("b", "f", 2)
	b.must("b", "b", true)
	all("context.e == 'q' && has(context.e)", "context.l == [0, 1, 2] && [0, 1, 2] == context.l", "context.l[1] == 1 && 2 in context.l",
		"context.l.exists_one(v, v > 1)", "context.l.filter(v, v > 0).map(v, v * 2) == [2, 4]", "context.l + [3] == [0, 1, 2, 3]",
		"context.m['agent:b'] == 1.5 && 'agent:b' in context.m && has(context.m)", "context.m.all(k, k.startsWith('agent:') && context.m[k] > 1.0)",
		// The keys of a map come in the order they were first written.
		"context.o.map(k, k) == ['k3', 'k2', 'k1']", "context.o == context.o && context.m != context.o", "context.b && context.f == 2.0",
		"context == context", "duration('1h') > duration('1m')", "'thread waits'.matches('^thread')")
	for _, e := range []string{"context.l == ['a']", "context.m[1] == 1.0", "context.f == 2", "now() > timestamp('2026-01-01T00:00:00Z')", "context.x == null",
		"timestamp('2026-01-01T00:00:00Z').getHours('Europe/Berlin') == 1", "google.protobuf.Value{}.string_value == ''", "[].size() == 0", ""} {
		if _, err := c.guard(e); err == nil {
			t.Errorf("%q compiles", e)
		}
	}
	b.check()
}
