package body

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// surface is a board of three fields: enough of one for these bodies.
type surface struct {
	agent.Surface
	agent  string
	seq    id.Seq
	fields map[string][]wire.FieldEntry
}

func (s *surface) UpdateContext(_ context.Context, field string, value any) (wire.Updated, error) {
	raw, err := json.Marshal(value)
	s.seq++
	s.fields[field] = append(s.fields[field], wire.FieldEntry{Seq: s.seq, Writer: "agent:" + s.agent, Value: raw})
	return wire.Updated{}, err
}

func (s *surface) ReadContext(_ context.Context, field string) (wire.Field, error) {
	f := wire.Field{Field: field, Value: json.RawMessage("null"), Entries: s.fields[field]}
	if len(f.Entries) > 0 {
		f.Value = f.Entries[len(f.Entries)-1].Value
	}
	return f, nil
}

func (s *surface) text(t *testing.T, field, writer string) []string {
	t.Helper()
	var all []string
	for _, e := range s.fields[field] {
		if writer != "" && e.Writer != "agent:"+writer {
			continue
		}
		var v string
		if err := json.Unmarshal(e.Value, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// document is as much of machine.yaml as a route through it needs.
type document struct {
	FSM struct {
		InitialState string `yaml:"initialState"`
		Agents       map[string]struct {
			CanTransition []string `yaml:"canTransition"`
		} `yaml:"agents"`
		States map[string]struct {
			Terminal    bool `yaml:"terminal"`
			Transitions []struct {
				ToState string `yaml:"toState"`
				Guards  []struct {
					Expression string `yaml:"expression"`
				} `yaml:"guards"`
			} `yaml:"transitions"`
		} `yaml:"states"`
	} `yaml:"fsm"`
}

func holds(t *testing.T, expression string, facts []string) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("context", cel.MapType(cel.StringType, cel.ListType(cel.StringType))))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := program.Eval(map[string]any{"context": map[string][]string{"facts": facts}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Value() == true
}

var bodies = map[string]agent.Body{"reader": Reader, "db_specialist": DBSpecialist, "net_specialist": NetSpecialist}

// The route is the one that the machine's own guards take on the facts that the
// programs find.
func TestFactsRoute(t *testing.T) {
	raw, err := os.ReadFile("../../machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../expect/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("expectations: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Input  string              `yaml:"input"`
				States []string            `yaml:"states"`
				Facts  map[string][]string `yaml:"facts"`
				Report []string            `yaml:"report"`
			}
			if err := yaml.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			t.Setenv("INCIDENT_DATA", filepath.Join("../..", want.Input))
			s := &surface{fields: map[string][]wire.FieldEntry{}}
			states := []string{doc.FSM.InitialState}
			for state := states[0]; !doc.FSM.States[state].Terminal; {
				for name, a := range doc.FSM.Agents {
					if slices.Contains(a.CanTransition, state) {
						s.agent = name
					}
				}
				if err := bodies[s.agent](t.Context(), &wire.Summons{State: state, Agent: s.agent}, s); err != nil {
					t.Fatal(err)
				}
				facts := s.text(t, "facts", "")
				next := ""
				for _, tr := range doc.FSM.States[state].Transitions {
					open := true
					for _, g := range tr.Guards {
						open = open && holds(t, g.Expression, facts)
					}
					if open {
						next = tr.ToState
						break
					}
				}
				state = next
				states = append(states, state)
			}
			if !slices.Equal(states, want.States) {
				t.Errorf("states %v", states)
			}
			for name := range bodies {
				var topics []string
				for _, raw := range s.text(t, "facts", name) {
					f, ok := evidence.ParseFact(raw)
					if !ok {
						t.Errorf("%s wrote %q", name, raw)
					}
					topics = append(topics, f.Topic)
				}
				if !slices.Equal(topics, want.Facts[name]) {
					t.Errorf("%s found %v", name, topics)
				}
			}
			report := strings.Join(s.text(t, "report", ""), "\n")
			t.Log(report)
			for _, w := range want.Report {
				if !strings.Contains(report, w) {
					t.Errorf("the report lacks %q", w)
				}
			}
		})
	}
}
