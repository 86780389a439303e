package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// edits are one mistake each, made to testdata/base.yaml.
var edits = []struct{ name, old, new string }{
	{"unknown key at the top", "fsm:", "machine:"},
	{"unknown key", "  version: 1", "  version: 1\n  owner: me"},
	{"missing keys", "  version: 1\n  initialState: open\n", ""},
	{"duplicate key", "  version: 1", "  version: 1\n  version: 2"},
	{"duplicate state", "    done:\n      terminal: true", "    done:\n      terminal: true\n    open:\n      terminal: true"},
	{"key that is no string", "    topic:  {", "    1:  {"},
	{"state named null", "    done:\n", "    null:\n"},
	{"name that is no string", "name: base", "name: 010"},
	{"name too long", "name: base", "name: " + strings.Repeat("n", 300)},
	{"version that is a word", "version: 1", "version: one"},
	{"version with a separator", "version: 1", "version: 1_000"},
	{"version zero", "version: 1", "version: 0"},
	{"version that is quoted", "version: 1", `version: "1"`},
	{"initial state that is nowhere", "initialState: open", "initialState: begin"},
	{"not YAML", "  version: 1", "  version: [1"},
	{"a tab", "  version: 1", "\tversion: 1"},
	{"two documents", "    maxIterations: 3", "    maxIterations: 3\n---\nfsm: {}"},
	{"a colon too many", "  version: 1", "  version: 1: 2"},
	{"a quote left open", "name: base", "name: \"base"},
	{"anchor", "{ type: string }", "&a { type: string }"},
	{"alias", "{ canTransition: [work] }", "*a"},
	{"anchor and alias", "    lead:  { canTransition: [open, work] }\n    alice: { canTransition: [work] }", "    lead:  &a { canTransition: [open, work] }\n    alice: *a"},
	{"merge key", "    lead:  { canTransition", "    lead:  { <<: {}, canTransition"},
	{"tag", "name: base", "name: !!binary base"},
	{"context that is a list", "  context:\n", "  context: []\n  x:\n"},
	{"field type", "type: string }", "type: text }"},
	{"field without type", "{ type: string }", "{}"},
	{"field type that is empty", "{ type: string }", "{ type: }"},
	{"field named in", "    topic: ", "    in: "},
	{"field with a hyphen", "    topic: ", "    my-topic: "},
	{"field with the journal's name", "    _round:", "    _machine:"},
	{"list without of", "{ type: list, of: string }", "{ type: list }"},
	{"list of lists", "{ type: list, of: string }", "{ type: list, of: list }"},
	{"of on a scalar", "topic:  { type: string }", "topic:  { type: string, of: string }"},
	{"maxItems on a scalar", "topic:  { type: string }", "topic:  { type: string, maxItems: 3 }"},
	{"maxItems of zero", "{ type: list, of: string }", "{ type: list, of: string, maxItems: 0 }"},
	{"enum without values", "{ type: enum, values: [go, stop] }", "{ type: enum }"},
	{"enum with no values", "values: [go, stop]", "values: []"},
	{"enum value twice", "values: [go, stop]", "values: [go, go]"},
	{"enum value that is a boolean", "values: [go, stop]", "values: [go, true]"},
	{"enum value that is empty", "values: [go, stop]", `values: [go, ""]`},
	{"values on a string", "topic:  { type: string }", "topic:  { type: string, values: [a] }"},
	{"validate that does not compile", "topic:  { type: string }", `topic:  { type: string, validate: "size(value) >" }`},
	{"validate that is no predicate", "topic:  { type: string }", `topic:  { type: string, validate: "size(value)" }`},
	{"validate over another type", "_round: { type: integer }", `_round: { type: integer, validate: "value.size() > 1" }`},
	{"agent named machine", "    alice:", "    machine:"},
	{"agent name", "    alice:", "    al/ice:"},
	{"agent without canTransition", "{ canTransition: [work] }", "{}"},
	{"agent with an unknown state", "alice: { canTransition: [work] }", "alice: { canTransition: [work, sleep] }"},
	{"agent with a state twice", "alice: { canTransition: [work] }", "alice: { canTransition: [work, work] }"},
	{"agent key", "{ canTransition: [work] }", "{ canTransition: [work], role: analyst }"},
	{"state key", "      terminal: true", "      terminal: true\n      timeout: 3"},
	{"terminal with transitions", "      terminal: true", "      terminal: true\n      transitions: [ { toState: open } ]"},
	{"terminal with requires", "      terminal: true", "      terminal: true\n      requires: []"},
	{"terminal that is no boolean", "      terminal: true", "      terminal: yes"},
	{"not terminal without transitions", "      terminal: true", "      description: x"},
	{"unreachable", "    done:\n", "    lost:\n      terminal: true\n    done:\n"},
	{"nowhere", "        - { toState: work }", "        - { toState: wrok }"},
	{"transition without a state", "        - { toState: work }", "        - { guards: [] }"},
	{"transition that is a word", "        - { toState: work }", "        - work"},
	{"undeclared field", "{ name: facts, from: { agent: alice }, required: false }", "{ name: fact, from: { agent: alice }, required: false }"},
	{"hidden field", "{ name: facts,", "{ name: _round,"},
	{"requirement without a name", "{ name: topic, from: agent }", "{ from: agent }"},
	{"requirement without from", "{ name: topic, from: agent }", "{ name: topic }"},
	{"source that is an agent's name", "{ name: topic, from: agent }", "{ name: topic, from: lead }"},
	{"unknown agent", "{ name: topic, from: agent }", "{ name: topic, from: { agent: bob } }"},
	{"agent that may not write there", "{ name: topic, from: agent }", "{ name: topic, from: { agent: alice } }"},
	{"no agent may write there", "lead:  { canTransition: [open, work] }", "lead:  { canTransition: [work] }"},
	{"from with an unknown key", "{ name: topic, from: agent }", "{ name: topic, from: { agents: lead } }"},
	{"requirement twice", "{ name: topic, from: agent }", "{ name: topic, from: agent }\n        - { name: topic, from: agent }"},
	{"two authors of one scalar", `{ name: views, from: { agent: alice }, prompt: "Your view." }`,
		"{ name: topic, from: { agent: alice } }\n        - { name: topic, from: { agent: lead } }"},
	{"required that is a word", "required: false", "required: maybe"},
	{"guard that does not compile", "context.status == 'go'", "context.status == "},
	{"guard over an undeclared field", "context.status == 'go'", "context.stats == 'go'"},
	{"guard of another type", "context.status == 'go'", "context.status == 1"},
	{"guard that is no boolean", "context.status == 'go'", "context.status"},
	{"guard with dyn", "context.status == 'go'", "dyn(context.status) == 1"},
	{"guard with type", "context.status == 'go'", "type(context.status) == string"},
	{"guard with a mixed list", "context.status == 'go'", "[1, 'a'].size() == 2"},
	{"guard with a map", "context.status == 'go'", "{'a': 1}.size() == 1"},
	{"guard with an object", "context.status == 'go'", "slate.Context{topic: 'a'}.topic == 'a'"},
	{"guard with an unknown name", "context.status == 'go'", "status == 'go'"},
	{"guard backend", "backend: cel", "backend: rego"},
	{"guard without an expression", `{ backend: cel, expression: "context.status == 'go'" }`, "{ backend: cel }"},
	{"guard key", "backend: cel,", "backend: cel, when: now,"},
	{"assign to a list", `{ assign: { topic: "" } }`, `{ assign: { facts: "" } }`},
	{"assign to a map", `{ assign: { topic: "" } }`, `{ assign: { views: "" } }`},
	{"assign of another type", `{ assign: { topic: "" } }`, `{ assign: { topic: 3 } }`},
	{"assign outside the enum", `{ assign: { topic: "" } }`, `{ assign: { status: maybe } }`},
	{"assign of nothing", `{ assign: { topic: "" } }`, `{ assign: { topic: } }`},
	{"assign of a fraction", `{ assign: { topic: "" } }`, `{ assign: { _round: 1.5 } }`},
	{"assign to an undeclared field", `{ assign: { topic: "" } }`, `{ assign: { topics: "" } }`},
	{"remove on a list", `{ remove: { views: "*" } }`, `{ remove: { facts: "*" } }`},
	{"remove on a scalar", `{ remove: { views: "*" } }`, `{ remove: { topic: "*" } }`},
	{"remove of nothing", `{ remove: { views: "*" } }`, `{ remove: { views: "" } }`},
	{"remove of a number", `{ remove: { views: "*" } }`, `{ remove: { views: 3 } }`},
	{"two actions in one", `{ remove: { views: "*" } }`, `{ remove: { views: "*" }, assign: { topic: "" } }`},
	{"unknown action", `{ remove: { views: "*" } }`, `{ append: { facts: "x" } }`},
	{"template over an undeclared field", "{{ context.topic }}", "{{ context.topics }}"},
	{"template over a hidden field", "{{ context.topic }}", "{{ context._round }}"},
	{"template that is no field", "{{ context.topic }}", "{{ topic }}"},
	{"policy key", "maxIterations: 3", "maxRounds: 3"},
	{"policy below zero", "maxIterations: 3", "maxIterations: -1"},
	{"policy that is a float", "maxIterations: 3", "maxIterations: 3.0"},
	{"policy with no exchange", "maxIterations: 3", "maxExchangesPerStage: 0"},
	{"many at once", "{ name: facts, from: { agent: alice }, required: false }", "{ name: fact, from: { agent: bob }, need: true }"},
}

// TestLoadErrors holds the exact place and words of every load error.
func TestLoadErrors(t *testing.T) {
	base, err := os.ReadFile("testdata/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load("base.yaml", base); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	documents := [][2]string{{"an empty document", ""}, {"a comment", "# nothing\n"}, {"a word", "fsm"}, {"an empty machine", "fsm:\n"},
		{"no states", "fsm: { name: a, version: 1, initialState: a, context: {}, agents: {}, states: {} }"},
		{"a list", "- fsm"}, {"not UTF-8", "fsm: \xff"}, {"too large", "#" + strings.Repeat("x", MaxDocument)}}
	for _, e := range edits {
		if !bytes.Contains(base, []byte(e.old)) {
			t.Fatalf("%s: the base has no %q", e.name, e.old)
		}
		documents = append(documents, [2]string{e.name, strings.Replace(string(base), e.old, e.new, 1)})
	}
	for _, d := range documents {
		_, err := Load("test.yaml", []byte(d[1]))
		var bad *LoadError
		if !errors.As(err, &bad) || len(bad.Problems) == 0 {
			t.Errorf("%s: loaded, error %v", d[0], err)
			continue
		}
		fmt.Fprintf(&out, "# %s\n%v\n\n", d[0], err)
	}
	const file = "testdata/load.txt"
	if *rewrite {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("load errors changed; run with -rewrite and read the difference\n%s", out.Bytes())
	}
}

// TestLoadWords holds what YAML 1.2 makes of words that older readers took for
// something else.
func TestLoadWords(t *testing.T) {
	d := load(t, `fsm:
  name: words
  version: 0o17
  initialState: on
  context:
    yes: { type: enum, values: [on, off, 1_000, 2026-03-01, y] }
    n: { type: integer }
    x: { type: number }
    b: { type: boolean }
  agents: { no: { canTransition: [on, off] } }
  states:
    on:
      requires: [ { name: yes, from: { agent: no } } ]
      transitions:
        - toState: off
          onTransition: [ { assign: { n: 010, x: 1e3, b: True, yes: 1_000 } } ]
    off: { terminal: true }
  policy: { maxIterations: 010, checkpointEvery: 0x10 }
`)
	if d.Version != 15 || d.Policy.MaxIterations != 10 || d.Policy.CheckpointEvery != 16 || d.Initial != "on" {
		t.Errorf("%+v", d)
	}
	var got []string
	for _, a := range d.States[0].Transitions[0].Actions {
		got = append(got, a.String())
	}
	if s := strings.Join(got, ", "); s != `n = 10, x = 1000, b = true, yes = "1_000"` {
		t.Error(s)
	}
	if d.Policy.MaxExchangesPerStage != DefaultPolicy.MaxExchangesPerStage {
		t.Errorf("%+v", d.Policy)
	}
}

// TestIncidentErrorLine is the message the project promises, in the source's document.
func TestIncidentErrorLine(t *testing.T) {
	doc := strings.Replace(string(incident(t).Source()), "{ name: facts,      from: { agent: log_analyst }", "{ name: fact,      from: { agent: log_analyst }", 1)
	_, err := Load("incident.yaml", []byte(doc))
	const want = `incident.yaml:37: state "investigate": requires field "fact": not in context (have facts, hypotheses, incident, resolution, status)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
