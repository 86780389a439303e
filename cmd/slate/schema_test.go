package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate/machine"
)

// printed runs a command in this process and returns what it printed.
func printed(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != exitDone {
		t.Fatalf("slate %s: exit status %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.Bytes()
}

// TestMachineSchema: what slate machine schema prints accepts every document that
// loads here, and not the mistakes that an editor should underline.
func TestMachineSchema(t *testing.T) {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed(t, "machine", "schema")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("machine.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("machine.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(document []byte) error {
		var v any
		if err := yaml.Unmarshal(document, &v); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	examples, err := filepath.Glob("../../examples/*/machine.yaml")
	if err != nil || len(examples) < 2 {
		t.Fatalf("%v %v", examples, err)
	}
	ours, err := filepath.Glob("testdata/*/machine.yaml")
	if err != nil || len(ours) < 3 {
		t.Fatalf("%v %v", ours, err)
	}
	for _, file := range append(examples, ours...) {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(document); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}

	good, err := os.ReadFile("testdata/greet/machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct{ was, is string }{
		{"version: 1", "version: one"},
		{"version: 1", "version: 1\n  colour: red"},
		{"initialState: ask", ""},
		{"type: string }", "type: strng }"},
		{"type: list, of: string", "type: list, of: list"},
		{"canTransition: [ask]", "canTransition: ask"},
		{"from: { agent: asker }", "from: { agnt: asker }"},
		{"backend: cel", "backend: lua"},
		{"terminal: true", "terminal: perhaps"},
		{"maxIterations: 3", "maxIterations: -3"},
	} {
		document := strings.Replace(string(good), wrong.was, wrong.is, 1)
		if document == string(good) {
			t.Fatalf("%q is not in the document", wrong.was)
		}
		if err := validate([]byte(document)); err == nil {
			t.Errorf("%q for %q: the schema accepts it", wrong.is, wrong.was)
		}
		if _, err := machine.Load("machine.yaml", []byte(document)); err == nil {
			t.Errorf("%q for %q: it loads", wrong.is, wrong.was)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"plain":       "plain",
		"a/b-c_d.e:1": "a/b-c_d.e:1",
		"größe":       "größe",
		"two words":   "'two words'",
		"it's":        `'it'\''s'`,
		`a"b`:         `'a"b'`,
		"$x;rm":       "'$x;rm'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
