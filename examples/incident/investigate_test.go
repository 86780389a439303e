package incident_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/internal/roster"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// run is a run that has ended.
type run struct {
	t      *testing.T
	data   string
	events []slate.Event
	state  *machine.Run
}

// investigate runs the example over a folder of files; instead answers for agents in
// place of their programs.
func investigate(t *testing.T, files string, instead map[string]agent.Body) *run {
	t.Helper()
	text, err := os.ReadFile("machine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	def, err := machine.Load("machine.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	files, err = filepath.Abs(files)
	if err != nil {
		t.Fatal(err)
	}
	team, err := roster.Load("agents.yaml", func(name string) (string, bool) { return files, name == "INCIDENT_DATA" })
	if err != nil {
		t.Fatal(err)
	}
	r := &run{t: t, data: t.TempDir()}
	o := slate.RunOptions{Machine: def, Agents: map[string]slate.Agent{}, Observe: func(e slate.Event) { r.events = append(r.events, e) }}
	for _, a := range team {
		a.Command[0] = filepath.Join(bin, filepath.Base(a.Command[0]))
		body := program.Body(program.Command{Args: a.Command, Dir: a.Dir, Env: a.Env}, nil)
		if other := instead[a.Name]; other != nil {
			body = other
		}
		o.Agents[a.Name] = slate.Agent{Body: body, Timeout: a.Timeout}
	}
	r.with(func(sys *slate.System) {
		result, err := sys.RunMachine(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if result.End == nil || !result.End.Terminal {
			t.Fatalf("%+v, %+v", result.End, result.Outcome)
		}
		if r.state, err = sys.Board(result.Board).Replay(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := sys.Board(result.Board).Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// with opens the run's folder.
func (r *run) with(do func(*slate.System)) {
	r.t.Helper()
	sys, err := slate.Open(r.t.Context(), slate.Options{Data: r.data})
	if err != nil {
		r.t.Fatal(err)
	}
	do(sys)
	if err := sys.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) of(kind timeline.Kind, field string) []slate.Event {
	var out []slate.Event
	for _, e := range r.events {
		if e.Kind == kind && e.Field == field {
			out = append(out, e)
		}
	}
	return out
}

func (r *run) states() []string {
	var out []string
	for _, e := range r.of(timeline.Entered, "") {
		out = append(out, e.State)
	}
	return out
}

func (r *run) statuses() []string {
	var out []string
	for _, e := range r.of(timeline.Wrote, "status") {
		out = append(out, text(r.t, e.Value))
	}
	return out
}

func (r *run) field(name string) wire.Field {
	r.t.Helper()
	f, no := r.state.Field(name)
	if no != nil {
		r.t.Fatal(no)
	}
	return f
}

func (r *run) resolution() string { return text(r.t, r.field("resolution").Value) }

// topics are what each agent's facts are about, in the order of the board.
func (r *run) topics() map[string][]string {
	out := map[string][]string{}
	for _, e := range r.field("facts").Entries {
		fact, ok := evidence.ParseFact(text(r.t, e.Value))
		if !ok {
			r.t.Errorf("%s wrote %s", e.Writer, e.Value)
		}
		out[e.Writer] = append(out[e.Writer], fact.Topic)
	}
	return out
}

func text(t *testing.T, v json.RawMessage) (s string) {
	t.Helper()
	if err := json.Unmarshal(v, &s); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return s
}
