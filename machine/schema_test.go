package machine

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

func compileSchema(t testing.TB, data []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is what an editor's YAML support hands to its schema validator.
func asJSON(t testing.TB, document []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(document, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSchema(t *testing.T) {
	s := compileSchema(t, Schema())
	base, err := os.ReadFile("testdata/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string][]byte{"the source's": incident(t).Source(), "base": base, "rich": []byte(rich), "six": []byte(six)} {
		if err := s.Validate(asJSON(t, doc)); err != nil {
			t.Errorf("%s document: %v", name, err)
		}
	}
	// Of the load errors, these are about one place alone, so a schema can see them.
	seen := map[string]bool{}
	for _, name := range []string{
		"unknown key at the top", "unknown key", "missing keys", "version that is a word", "version zero", "version that is quoted",
		"field type", "field without type", "field type that is empty", "field with the journal's name", "field with a hyphen", "field named in",
		"list without of", "list of lists", "of on a scalar", "maxItems on a scalar", "maxItems of zero", "enum without values",
		"enum with no values", "enum value twice", "enum value that is a boolean", "enum value that is empty", "values on a string",
		"agent named machine", "agent name", "agent without canTransition", "agent with a state twice", "agent key", "state key",
		"terminal with transitions", "terminal with requires", "not terminal without transitions", "transition without a state",
		"transition that is a word", "requirement without a name", "requirement without from", "source that is an agent's name",
		"from with an unknown key", "required that is a word", "guard backend", "guard without an expression", "guard key",
		"assign of nothing", "remove of nothing", "remove of a number", "two actions in one", "unknown action",
		"policy key", "policy below zero", "policy with no exchange", "name too long",
	} {
		seen[name] = true
		for _, e := range edits {
			if e.name == name {
				delete(seen, name)
				doc := strings.Replace(string(base), e.old, e.new, 1)
				if err := s.Validate(asJSON(t, []byte(doc))); err == nil {
					t.Errorf("%s: the schema accepts it", name)
				}
			}
		}
	}
	if len(seen) > 0 {
		t.Errorf("no such edits: %v", seen)
	}
}

// TestForms: the form of a requirement accepts exactly the values that a write does.
func TestForms(t *testing.T) {
	d := load(t, machineOf(`    string: { type: string }
    number: { type: number }
    integer: { type: integer }
    boolean: { type: boolean }
    enum: { type: enum, values: [p, q] }
    blob: { type: blob }
    list: { type: list, of: enum, values: [p, q] }
    map: { type: map, of: integer }
`, `    s:
      requires:
        - { name: string,  from: { agent: a }, prompt: "Say it." }
        - { name: number,  from: { agent: a } }
        - { name: integer, from: { agent: a } }
        - { name: boolean, from: { agent: a } }
        - { name: enum,    from: { agent: a } }
        - { name: blob,    from: { agent: a } }
        - { name: list,    from: { agent: a } }
        - { name: map,     from: { agent: a } }
      transitions: [ { toState: end } ]
`))
	for _, q := range open(t, d).run.Requirements("a") {
		form := compileSchema(t, q.Form)
		f, _ := d.Field(q.Field)
		for _, value := range []string{`"p"`, `"x"`, `""`, "1", "1.0", "-2.5", "1e3", "9007199254740992", "9007199254740993", "true", "null", "[]", "{}",
			`"sha256:` + strings.Repeat("0a", 32) + `"`, `"sha256:` + strings.Repeat("0A", 32) + `"`} {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err != nil {
				t.Fatal(err)
			}
			_, no := coerce(f, json.RawMessage(value))
			if err := form.Validate(v); (err == nil) != (no == nil) {
				t.Errorf("%s %s: form %v, write %v", q.Field, value, err, no)
			}
		}
	}
	if form := string(d.Form(d.States[0].Requires[0])); form != `{"type":"string","title":"string","description":"Say it."}` {
		t.Error(form)
	}
}

func TestTools(t *testing.T) {
	d := incident(t)
	if d.Tools("nobody") != nil {
		t.Error("tools for a stranger")
	}
	for _, tool := range d.Tools("lead") {
		compileSchema(t, tool.InputSchema)
		if tool.Name == "updateContext" {
			s := compileSchema(t, tool.InputSchema)
			for call, ok := range map[string]bool{
				`{"field":"facts","value":"x"}`: true, `{"field":"fact","value":"x"}`: false, `{"field":"facts"}`: false,
				`{"field":"facts","value":["x"]}`: false, `{"field":"facts","value":"x","writer":"y"}`: false,
			} {
				v, _ := jsonschema.UnmarshalJSON(strings.NewReader(call))
				if err := s.Validate(v); (err == nil) != ok {
					t.Errorf("%s: %v", call, err)
				}
			}
		}
	}
	g := d.Graph()
	if len(g.Nodes) != 6 || len(g.Edges) != 7 || g.Nodes[0].Role != "start" || g.Nodes[5].Role != "end" {
		t.Errorf("%+v", g)
	}
}
