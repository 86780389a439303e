package roster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// surroundings are the caller's environment in these tests.
func surroundings(name string) (string, bool) {
	switch name {
	case "SET":
		return "value", true
	case "EMPTY":
		return "", true
	}
	return "", false
}

func TestParse(t *testing.T) {
	got, err := Parse("team/agents.yaml", []byte(`
agents:
  lead:
    command: [bin/lead, --verbose, "two words"]
    timeout: 1m30s
    env:
      B: plain
      A: "${SET}/${UNSET:-default}/${EMPTY:-other}/${EMPTY}/$$HOME/$HOME"
      PORT: 8080
      DEBUG: true
  "an agent, quoted":
    command: [python3, -c, ""]
    dir: sub/folder
  elsewhere: { command: [sh], dir: /opt/elsewhere }
`), surroundings)
	if err != nil {
		t.Fatal(err)
	}
	want := []Agent{
		{Name: "lead", Command: []string{"bin/lead", "--verbose", "two words"}, Dir: "team", Timeout: 90 * time.Second, Line: 3,
			Env: []string{"A=value/default/other//$HOME/$HOME", "B=plain", "DEBUG=true", "PORT=8080"}},
		{Name: "an agent, quoted", Command: []string{"python3", "-c", ""}, Dir: "team/sub/folder", Line: 11},
		{Name: "elsewhere", Command: []string{"sh"}, Dir: "/opt/elsewhere", Line: 14},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// The messages are what a person sees: file, line, problem and, where it is not
// plain, what to do.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", `f: the file is empty: it needs agents: with one entry an agent`},
		{"a comment alone", "# nothing\n", `f: the file is empty: it needs agents: with one entry an agent`},
		{"null", "~\n", `f:1: the file must be a mapping`},
		{"a list", "- a\n", `f:1: the file must be a mapping`},
		{"a scalar", "agents\n", `f:1: the file must be a mapping`},
		{"no agent", "agents: {}\n", `f:1: no agent is declared`},
		{"agents is a list", "agents:\n  - lead\n", `f:2: agents must be a mapping`},
		{"another key", "agents: { a: { command: [sh] } }\nversion: 2\n", `f:2: unknown key "version": the file has one key, agents`},
		{"syntax", "agents:\n  a: [\n", `f:2: did not find expected node content`},
		{"a tab", "agents:\n\ta: 1\n", `f:2: found character that cannot start any token`},
		{"two documents", "agents: { a: { command: [sh] } }\n---\nagents: {}\n", `f:2: a second document begins: the file holds one`},
		{"agents twice", "agents: { a: { command: [sh] } }\nagents: {}\n", `f:2: the file has "agents" twice (first at line 1)`},
		{"an agent twice", "agents:\n  a: { command: [sh] }\n  a: { command: [sh] }\n", `f:3: agents has "a" twice (first at line 2)`},
		{"a key twice", "agents:\n  a:\n    command: [sh]\n    command: [sh]\n", `f:4: agent a has "command" twice (first at line 3)`},
		{"a variable twice", "agents:\n  a:\n    command: [sh]\n    env:\n      X: 1\n      X: 2\n", `f:6: agent a: env has "X" twice (first at line 5)`},
		{"an unknown key", "agents:\n  a:\n    command: [sh]\n    colour: red\n", `f:4: agent a: unknown key "colour" (it takes command, dir, env, timeout)`},
		{"no command", "agents:\n  a: { timeout: 1s }\n", `f:2: agent a: command is missing: the program and its arguments, as a list`},
		{"an agent is a scalar", "agents:\n  a: sh\n", `f:2: agent a must be a mapping`},
		{"command is a text", "agents:\n  a: { command: sh -c x }\n", `f:2: agent a: command must be a list: the program, then its arguments`},
		{"command is empty", "agents:\n  a: { command: [] }\n", `f:2: agent a: command must be a list: the program, then its arguments`},
		{"command names nothing", "agents:\n  a: { command: [\"\", x] }\n", `f:2: agent a: command names no program`},
		{"an argument is a list", "agents:\n  a: { command: [sh, [x]] }\n", `f:2: agent a: command must be a text`},
		{"an argument is null", "agents:\n  a: { command: [sh, ~] }\n", `f:2: agent a: command must be a text`},
		{"an argument with NUL", "agents:\n  a: { command: [sh, \"x\\0y\"] }\n", `f:2: agent a: command has a NUL character, which no program can be given`},
		{"dir is a list", "agents:\n  a: { command: [sh], dir: [] }\n", `f:2: agent a: dir must be a text`},
		{"env is a list", "agents:\n  a: { command: [sh], env: [X=1] }\n", `f:2: agent a: env must be a mapping`},
		{"env value is null", "agents:\n  a: { command: [sh], env: { X: } }\n", `f:2: agent a: env: X must be a text`},
		{"env name", "agents:\n  a: { command: [sh], env: { \"X=Y\": 1 } }\n", `f:2: agent a: env: "X=Y" is no name of a variable`},
		{"env key is a list", "agents:\n  a: { command: [sh], env: { [x]: 1 } }\n", `f:2: a key of agent a: env must be a plain name`},
		{"unset", "agents:\n  a: { command: [sh], env: { X: \"${NOT_SET}\" } }\n",
			`f:2: agent a: env: X: ${NOT_SET} is not set in the environment (set it, or give a default with ${NOT_SET:-default})`},
		{"unclosed", "agents:\n  a: { command: [sh], env: { X: \"${SET\" } }\n", `f:2: agent a: env: X: ${ without a closing brace`},
		{"timeout without unit", "agents:\n  a: { command: [sh], timeout: 5 }\n", `f:2: agent a: timeout "5" is no positive duration (write 30s or 2m)`},
		{"timeout zero", "agents:\n  a: { command: [sh], timeout: 0s }\n", `f:2: agent a: timeout "0s" is no positive duration (write 30s or 2m)`},
		{"timeout negative", "agents:\n  a: { command: [sh], timeout: -1s }\n", `f:2: agent a: timeout "-1s" is no positive duration (write 30s or 2m)`},
		{"timeout too long", "agents:\n  a: { command: [sh], timeout: 9999999999h }\n", `f:2: agent a: timeout "9999999999h" is no positive duration (write 30s or 2m)`},
		{"timeout is a list", "agents:\n  a: { command: [sh], timeout: [1s] }\n", `f:2: agent a: timeout must be a text`},
		{"all at once, by line", "agents:\n  a: { command: [sh], timeout: never }\n  b: { colour: red }\nmore: 1\n",
			"f:2: agent a: timeout \"never\" is no positive duration (write 30s or 2m)\n" +
				"f:3: agent b: unknown key \"colour\" (it takes command, dir, env, timeout)\n" +
				"f:3: agent b: command is missing: the program and its arguments, as a list\n" +
				"f:4: unknown key \"more\": the file has one key, agents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			agents, err := Parse("f", []byte(c.text), surroundings)
			var e *Error
			if !errors.As(err, &e) || agents != nil {
				t.Fatalf("%+v, %v", agents, err)
			}
			if err.Error() != c.want {
				t.Errorf("got\n%s\nwant\n%s", err, c.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agents.yaml")
	if _, err := Load(path, surroundings); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("# x\n"), maxFile/4+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, surroundings); err == nil || err.Error() != fmt.Sprintf("%s: the file has %d bytes, the limit is %d", path, maxFile+4, maxFile) {
		t.Errorf("a large file: %v", err)
	}
	if err := os.WriteFile(path, []byte("agents: { a: { command: [sh] } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if agents, err := Load(path, surroundings); err != nil || len(agents) != 1 || agents[0].Dir != dir {
		t.Errorf("%+v, %v", agents, err)
	}
}

// schema compiles the schema that editors are given.
func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("agents.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("agents.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a YAML text as the schema sees it.
func asJSON(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
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
	s := schema(t)
	examples, err := filepath.Glob("../../examples/*/agents.yaml")
	if err != nil || len(examples) < 2 {
		t.Fatalf("examples: %v %v", examples, err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := Parse(file, text, surroundings); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, c := range []struct {
		text string
		good bool
	}{
		{"agents: { a: { command: [sh] } }", true},
		{"agents: { a: { command: [sh, x], dir: d, timeout: 1m30s, env: { A: 1, B: x, C: true } } }", true},
		{"agents: { a: { command: [sh], timeout: 1.5h } }", true},
		{"agents: {}", false},
		{"agents: [a]", false},
		{"agents: { a: sh }", false},
		{"agents: { a: { dir: d } }", false},
		{"agents: { a: { command: sh } }", false},
		{"agents: { a: { command: [] } }", false},
		{"agents: { a: { command: [\"\"] } }", false},
		{"agents: { a: { command: [sh], colour: red } }", false},
		{"agents: { a: { command: [sh], timeout: 5 } }", false},
		{"agents: { a: { command: [sh], timeout: fast } }", false},
		{"agents: { a: { command: [sh], env: { A: [] } } }", false},
		{"agents: { a: { command: [sh], env: { A: } } }", false},
		{"agents: { a: { command: [sh] } }\nmore: 1", false},
	} {
		schemaErr := s.Validate(asJSON(t, []byte(c.text)))
		_, parseErr := Parse("f", []byte(c.text), surroundings)
		if (schemaErr == nil) != c.good || (parseErr == nil) != c.good {
			t.Errorf("%s: good is %v; the schema says %v, the parser %v", c.text, c.good, schemaErr, parseErr)
		}
	}
}

// FuzzParse: whatever the text, the parser answers with agents that can be started
// or with problems that name the file, and never both.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"agents:\n  a: { command: [sh, -c, x], timeout: 5s, dir: d, env: { A: \"${SET}$$\" } }\n",
		"agents: &x { a: *x }\n", "a: &a [*a]\n", "<<: { agents: {} }\n", "agents: !!binary aGk=\n", "? [a]\n: b\n", "---\n---\n", "%YAML 9.9\n---\n",
		"agents: { a: { command: [sh], env: { A: \"${${SET}}\" } } }\n",
		"{{{{", "agents: {a: {command: [\"\\u0000\"]}}", "\xff\xfe", "!!str : x", "agents:\n  a: |\n    x\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		agents, err := Parse("dir/file", text, surroundings)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || len(e.Problems) == 0 || agents != nil {
				t.Fatalf("%v with %+v", err, agents)
			}
			for _, p := range e.Problems {
				if !strings.HasPrefix(p, "dir/file:") || len(p) < len("dir/file:")+5 {
					t.Errorf("%q", p)
				}
			}
			return
		}
		if len(agents) == 0 {
			t.Error("no agent and no problem")
		}
		for _, a := range agents {
			if len(a.Command) == 0 || a.Command[0] == "" || a.Dir == "" || a.Line < 1 || a.Timeout < 0 {
				t.Errorf("%+v", a)
			}
			for _, s := range append(append([]string{a.Dir}, a.Command...), a.Env...) {
				if strings.ContainsRune(s, 0) {
					t.Errorf("%q in %+v", s, a)
				}
			}
		}
	})
}
