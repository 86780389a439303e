// Package triage_test runs the whole example: the machine's document, the programs as
// programs, and the inputs, held against what expect says.
package triage_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/internal/roster"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
)

// bin is where TestMain builds the programs.
var bin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "triage")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", "./agents/...").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// expectation is what comes of an input. Only tests read it.
type expectation struct {
	Input  string              `yaml:"input"`
	States []string            `yaml:"states"`
	Facts  map[string][]string `yaml:"facts"`
	Report []string            `yaml:"report"`
}

// TestInputs: what the facts contain decides who is asked, and nobody else is.
func TestInputs(t *testing.T) {
	files, err := filepath.Glob("expect/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v %v", files, err)
	}
	ends := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			if err := yaml.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			ends[want.States[len(want.States)-1]] = true
			triage(t, want)
		})
	}
	if len(ends) != 3 {
		t.Errorf("the inputs end in %v only", slices.Collect(maps.Keys(ends)))
	}
}

func triage(t *testing.T, want expectation) {
	data, err := os.ReadFile("machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	def, err := machine.Load("machine.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	team, err := roster.Load("agents.yaml", func(name string) (string, bool) { return want.Input, name == "INCIDENT_DATA" })
	if err != nil {
		t.Fatal(err)
	}
	sys, err := slate.Open(t.Context(), slate.Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	var states, summoned []string
	o := slate.RunOptions{Machine: def, Agents: map[string]slate.Agent{}, Observe: func(e slate.Event) {
		switch e.Kind {
		case timeline.Entered:
			states = append(states, e.State)
		case timeline.Summoned:
			summoned = append(summoned, e.Agent)
		case timeline.Failed, timeline.Refused, timeline.Redelivery:
			t.Errorf("%+v", e)
		}
	}}
	for _, a := range team {
		a.Command[0] = filepath.Join(bin, filepath.Base(a.Command[0]))
		o.Agents[a.Name] = slate.Agent{Timeout: a.Timeout, Body: program.Body(program.Command{Args: a.Command, Dir: a.Dir, Env: a.Env}, nil)}
	}
	result, err := sys.RunMachine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if result.End == nil || !result.End.Terminal || !slices.Equal(states, want.States) {
		t.Errorf("%+v, states %v, want %v", result.End, states, want.States)
	}
	b := sys.Board(result.Board)
	if _, err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	run, err := b.Replay(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	facts, no := run.Field("facts")
	if no != nil {
		t.Fatal(no)
	}
	topics := map[string][]string{}
	for _, e := range facts.Entries {
		fact, ok := evidence.ParseFact(text(t, e.Value))
		if !ok {
			t.Errorf("%s wrote %s", e.Writer, e.Value)
		}
		topics[e.Writer] = append(topics[e.Writer], fact.Topic)
	}
	if len(want.Facts) > 0 && !maps.EqualFunc(topics, want.Facts, slices.Equal) {
		t.Errorf("facts %v, want %v", topics, want.Facts)
	}
	// The reader, and the specialist whose state was entered: nobody else was asked.
	asked := []string{"reader"}
	for _, state := range want.States {
		switch state {
		case "ask_database":
			asked = append(asked, "db_specialist")
		case "ask_network":
			asked = append(asked, "net_specialist")
		}
	}
	if !slices.Equal(summoned, asked) {
		t.Errorf("summoned %v, want %v", summoned, asked)
	}
	report, no := run.Field("report")
	if no != nil {
		t.Fatal(no)
	}
	if len(want.Report) == 0 {
		if len(report.Entries) != 0 {
			t.Errorf("a report where none was asked for: %s", report.Value)
		}
		return
	}
	for _, s := range want.Report {
		if !strings.Contains(text(t, report.Value), s) {
			t.Errorf("the report lacks %q: %s", s, report.Value)
		}
	}
}

func text(t *testing.T, v json.RawMessage) (s string) {
	t.Helper()
	if err := json.Unmarshal(v, &s); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return s
}
