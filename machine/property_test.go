package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// rich uses every type, optional and shared requirements, re-entry, hidden fields,
// a guard that can fail and one that can cost too much.
const rich = `fsm:
  name: rich
  version: 1
  initialState: s
  context:
    x: { type: string }
    e: { type: enum, values: [p, q] }
    l: { type: list, of: string, maxItems: 6 }
    i: { type: list, of: integer }
    m: { type: map, of: number }
    free: { type: map, of: string, maxItems: 3 }
    f: { type: blob }
    b: { type: boolean }
    n: { type: integer, validate: "value < 100" }
    _k: { type: integer }
  agents:
    a: { canTransition: [s, t, u] }
    b: { canTransition: [s, t] }
    c: { canTransition: [t, u] }
  states:
    s:
      description: "x is {{ context.x }}, l is {{ context.l }}, m is {{ context.m }}"
      requires:
        - { name: x, from: agent }
        - { name: l, from: { agent: b }, required: false }
      transitions:
        - { toState: t, guards: [ { expression: "context.x != 'stop'" } ] }
        - { toState: end, guards: [ { expression: "context.l.exists(v, v == 'way out')" } ] }
    t:
      requires:
        - { name: m, from: { agent: a } }
        - { name: m, from: { agent: b } }
        - { name: e, from: { agent: c } }
        - { name: i, from: agent, required: false }
      transitions:
        - toState: s
          guards: [ { expression: "context.e == 'p'" }, { expression: "context.i.all(v, 10 / v >= 0) || context.b" } ]
          onTransition: [ { remove: { m: "*" } }, { assign: { x: "", e: "", _k: 7 } } ]
        - toState: u
          guards: [ { expression: "context._k == 7 || size(context.m) > 1" } ]
          onTransition: [ { remove: { m: "agent:b" } }, { remove: { free: "*" } }, { assign: { b: true } } ]
    u:
      requires: [ { name: n, from: agent }, { name: f, from: { agent: c }, required: false } ]
      transitions:
        - { toState: end, guards: [ { expression: "context.n > 50" } ] }
        - toState: t
          guards: [ { expression: "context.l.all(v, context.l.all(w, context.l.all(x, context.l.all(y, context.l.all(z, size(v + w + x + y + z) < 5000)))))" } ]
          onTransition: [ { assign: { n: "" } }, { assign: { e: q } } ]
    end: { terminal: true }
  policy: { maxIterations: 4, maxExchangesPerStage: 20, maxExchangesPerAgentPerStage: 8, checkpointEvery: 2 }
`

// operation is one thing the outside does to a run; it is data, so that two runs
// can be given the same.
type operation struct {
	kind, agent, field, key string
	value                   json.RawMessage
	ack                     bool
	wait                    time.Duration
}

func drawOperation(t *rapid.T, d *Definition) operation {
	var agents, fields []string
	for _, a := range d.Agents {
		agents = append(agents, a.Name)
	}
	for _, f := range d.Fields {
		fields = append(fields, f.Name)
	}
	o := operation{
		kind:  rapid.SampledFrom([]string{"work", "work", "work", "work", "claim", "write", "write", "write", "write", "write", "settle", "release", "renew"}).Draw(t, "kind"),
		agent: rapid.SampledFrom(agents).Draw(t, "agent"),
		wait:  rapid.SampledFrom([]time.Duration{0, time.Second, time.Second, 2 * time.Minute}).Draw(t, "wait"),
	}
	switch o.kind {
	case "write":
		// Half of the writes go where the machine waits; the others anywhere.
		o.field = rapid.SampledFrom(append(fields, "?", "?", "?", "?", "?", "?", "?", "?")).Draw(t, "field")
		if rapid.IntRange(0, 9).Draw(t, "keyed") == 0 {
			o.key = rapid.SampledFrom([]string{"topic", "agent:a", "other", "third", "fourth", "*"}).Draw(t, "key")
		}
		o.value = json.RawMessage(rapid.SampledFrom([]string{`"p"`, `"q"`, `"solved"`, `"continue"`, `"escalate"`, `"stop"`, `"way out"`, `"é\n<&> \u2028"`,
			`""`, "0", "1", "-3", "60", "1.5", "true", "false", "null", "[1]", `{"a":1}`, `"sha256:` + strings.Repeat("0f", 32) + `"`,
			`"` + strings.Repeat("long ", 200) + `"`}).Draw(t, "value"))
	case "work":
		o.value = json.RawMessage(fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "choice")))
	case "settle":
		o.ack = rapid.Bool().Draw(t, "ack")
	}
	return o
}

// do does one operation to the run. What is refused leaves no trace.
func (b *board) do(o operation) {
	b.now = b.now.Add(o.wait)
	a, _ := b.run.def.Agent(o.agent)
	row := b.run.rows[a.index]
	switch o.kind {
	case "claim":
		if step, _, no := b.run.Claim(o.agent, b.now, time.Minute, "h", b.next()); no == nil {
			b.keep(step)
		}
	case "work":
		b.work(o, int(o.value[0]-'0'))
	case "write":
		if o.field == "?" {
			for _, q := range b.run.Requirements(o.agent) {
				if !q.Met {
					o.field = q.Field
				}
			}
		}
		b.writeUnder(row, o.field, o.key, o.value)
	case "settle":
		if step, no := b.run.Settle(Settlement{Agent: o.agent, Generation: row.Generation, Acknowledged: o.ack, Failure: "failed"}, b.next(), b.now); no == nil {
			b.keep(step)
		}
	case "release":
		b.run.Release(o.agent, row.Generation, b.now)
	case "renew":
		b.run.Renew(o.agent, row.Generation, b.now, time.Hour)
	}
}

// work claims the agent's summons when it can and writes what is asked of it.
func (b *board) work(o operation, choice int) {
	o.kind = "claim"
	b.do(o)
	for _, q := range b.run.Requirements(o.agent) {
		kind := q.Type
		if q.Of != "" {
			kind = q.Of
		}
		value := any("some text")
		switch kind {
		case "string":
			value = []string{"way out", "stop", "text", "text", "more", "x"}[choice]
		case "enum":
			value = q.Values[choice%len(q.Values)]
		case "blob":
			value = blobPrefix + strings.Repeat("0f", 32)
		case "number", "integer":
			value = []int{0, 1, 60, 60, 2, 99}[choice]
		case "boolean":
			value = choice%2 == 0
		}
		a, _ := b.run.def.Agent(o.agent)
		b.writeUnder(b.run.rows[a.index], q.Field, "", value)
	}
}

func drawRun(t *rapid.T, tb testing.TB, defs []*Definition) (*board, []operation) {
	d := rapid.SampledFrom(defs).Draw(t, "machine")
	b := open(tb, d)
	ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) operation { return drawOperation(t, d) }), 40, 200).Draw(t, "operations")
	for _, o := range ops {
		b.do(o)
	}
	return b, ops
}

func machines(t testing.TB) []*Definition {
	return []*Definition{incident(t), load(t, rich), load(t, six)}
}

// TestFoldAgrees: the record folds to the run, restores to it from any checkpoint,
// and verifies; the same operations give the same record.
func TestFoldAgrees(t *testing.T) {
	defs := machines(t)
	reasons := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		b, ops := drawRun(rt, t, defs)
		b.check()
		if end := b.run.Ended(); end != nil {
			reasons[end.Reason]++
		}

		again := open(t, b.def)
		for _, o := range ops {
			again.do(o)
		}
		if text(b.entries) != text(again.entries) {
			rt.Fatal("the same operations gave another record")
		}
		sameRun(t, "again", again.run, b.run, true)

		cut := rapid.IntRange(1, len(b.entries)).Draw(rt, "cut")
		half, err := Replay(known(b.def), b.all(), b.entries[cut-1].Seq)
		if err != nil {
			rt.Fatal(err)
		}
		if half.State() == "" {
			return
		}
		restored, err := Restore(b.def, half.Checkpoint(), b.lists)
		if err != nil {
			rt.Fatal(err)
		}
		sameRun(t, "restored half", restored, half, true)
		for _, e := range b.entries[cut:] {
			if err := restored.Fold(e); err != nil {
				rt.Fatal(err)
			}
		}
		restored.RestoreSummons(b.run.SummonsRows())
		sameRun(t, "restored and folded", restored, b.run, true)
		if len(Diff(b.run, restored)) != 0 {
			rt.Fatal("equal runs differ")
		}
		Diff(half, restored)
	})
	t.Logf("ends: %v", reasons)
}

// derived says whether an entry follows from those before it.
func derived(e wire.Entry) bool {
	if e.Writer != Writer {
		return false
	}
	if e.Region != JournalRegion {
		return true
	}
	ev, err := ParseEvent(e.Content)
	return err == nil && (ev.Type == EventEntered || ev.Type == EventFired || ev.Type == EventEnded)
}

// TestVerifyFindsMutations: no derived entry can be altered, dropped, doubled, moved
// or put under another name, and no guard result flipped, without Verify saying so.
func TestVerifyFindsMutations(t *testing.T) {
	defs := machines(t)
	rapid.Check(t, func(rt *rapid.T) {
		b, _ := drawRun(rt, t, defs)
		var at []int
		for i, e := range b.entries {
			if derived(e) {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			return
		}
		i := rapid.SampledFrom(at).Draw(rt, "entry")
		entries := slices.Clone(b.entries)
		e := &entries[i]
		how := rapid.SampledFrom([]string{"flip", "content", "drop", "double", "swap", "writer", "region", "version", "key", "cut"}).Draw(rt, "how")
		switch how {
		case "flip":
			from, to := []byte(`"result":true`), []byte(`"result":false`)
			if !bytes.Contains(e.Content, from) {
				from, to = to, from
			}
			if !bytes.Contains(e.Content, from) {
				return
			}
			e.Content = bytes.Replace(e.Content, from, to, 1)
		case "content":
			if e.Content == nil {
				e.Content = json.RawMessage(`"x"`)
			} else {
				k := rapid.IntRange(0, len(e.Content)-1).Draw(rt, "byte")
				e.Content = slices.Clone(e.Content)
				e.Content[k] ^= 1
			}
		case "drop":
			entries = slices.Delete(entries, i, i+1)
		case "double":
			entries = slices.Insert(entries, i, *e)
		case "swap":
			if i+1 == len(entries) {
				return
			}
			entries[i], entries[i+1] = entries[i+1], entries[i]
		case "writer":
			e.Writer = b.def.Agents[0].Name
		case "region":
			e.Region = b.def.Fields[0].Name
			if b.entries[i].Region == e.Region {
				e.Region = JournalRegion
			}
		case "version":
			e.Version++
		case "key":
			e.Key = "k"
		case "cut":
			entries = entries[:i]
		}
		for j := range entries {
			entries[j].Seq = id.Seq(j + 1)
		}
		_, err := Verify(known(b.def), each(entries))
		if refusal.CodeOf(err) != refusal.AlteredRecord {
			rt.Fatalf("%s of %s: %v", how, recorded(b.entries[i]), err)
		}
		if !strings.Contains(err.Error(), "entry ") {
			rt.Fatalf("no position: %v", err)
		}
	})
}

// TestEventContent: the hand-written JSON is what encoding/json would write, and
// reads back.
func TestEventContent(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "é<>&", "\"\\\n\x01\x7f", "\u2028", "\U0001F600"})
	rapid.Check(t, func(rt *rapid.T) {
		e := Event{Type: "t" + word.Draw(rt, "type"), Name: word.Draw(rt, "name"), From: word.Draw(rt, "from"), To: word.Draw(rt, "to"),
			State: word.Draw(rt, "state"), Agent: word.Draw(rt, "agent"), Failure: word.Draw(rt, "failure"), Reason: word.Draw(rt, "reason"),
			Message: word.Draw(rt, "message"), Version: rapid.IntRange(0, 2).Draw(rt, "version"), Entry: rapid.IntRange(0, 2).Draw(rt, "entry"),
			Attempt: rapid.IntRange(0, 2).Draw(rt, "attempt"), Cause: 3, Digest: "d", Previous: "p"}
		if rapid.Bool().Draw(rt, "pointers") {
			e.Transition, e.Met, e.Acknowledged = ptr(rapid.IntRange(0, 1).Draw(rt, "transition")), ptr(rapid.Bool().Draw(rt, "met")), ptr(false)
		}
		for i := range rapid.IntRange(0, 2).Draw(rt, "guards") {
			e.Guards = append(e.Guards, GuardResult{Transition: i, To: word.Draw(rt, "g"), Expression: word.Draw(rt, "x"), Result: i == 0, Error: word.Draw(rt, "error")})
		}
		if got, want := string(e.content()), string(encode(&e)); got != want {
			rt.Fatalf("got  %s\nwant %s", got, want)
		}
		back, err := ParseEvent(e.content())
		if err != nil || fmt.Sprint(string(back.content())) != string(e.content()) {
			rt.Fatal(err)
		}
	})
}
