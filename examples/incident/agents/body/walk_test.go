package body

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// fakeBoard holds the five fields of the machine. It is enough of a board for the
// bodies: what they read of it is here, what they do not is the nil Surface.
type fakeBoard struct {
	seq     id.Seq
	fields  map[string][]wire.FieldEntry
	cleared id.Seq
}

// write applies one contribution; an element equal to one of the same agent is a
// repeat.
func (b *fakeBoard) write(agent, field string, value json.RawMessage) {
	e := wire.FieldEntry{Writer: "agent:" + agent, Value: value}
	old := b.fields[field]
	switch field {
	case "facts":
		if slices.ContainsFunc(old, func(o wire.FieldEntry) bool { return o.Writer == e.Writer && string(o.Value) == string(value) }) {
			return
		}
	case "hypotheses":
		e.Key = e.Writer
		old = slices.DeleteFunc(old, func(o wire.FieldEntry) bool { return o.Key == e.Key })
	default:
		old = nil
	}
	b.seq++
	e.Seq = b.seq
	b.fields[field] = append(old, e)
}

// again does what the continue transition does.
func (b *fakeBoard) again() {
	b.fields["hypotheses"], b.fields["status"] = nil, nil
	b.seq += 2
	b.cleared = b.seq
}

// surface is the board as one agent sees it.
type surface struct {
	agent.Surface
	board *fakeBoard
	agent string
	calls int
	// dies is after how many calls the agent is gone; 0 is never.
	dies int
}

type gone struct{}

func (gone) Error() string { return "the agent is gone" }

func (s *surface) call() error {
	if s.calls++; s.dies > 0 && s.calls > s.dies {
		return gone{}
	}
	return nil
}

func (s *surface) UpdateContext(_ context.Context, field string, value any) (wire.Updated, error) {
	if err := s.call(); err != nil {
		return wire.Updated{}, err
	}
	raw, err := json.Marshal(value)
	if err == nil {
		s.board.write(s.agent, field, raw)
	}
	return wire.Updated{}, err
}

func (s *surface) ReadContext(_ context.Context, field string) (wire.Field, error) {
	if err := s.call(); err != nil {
		return wire.Field{}, err
	}
	f := wire.Field{Field: field, Value: json.RawMessage("null"), Entries: s.board.fields[field]}
	if len(f.Entries) > 0 {
		f.Value = f.Entries[len(f.Entries)-1].Value
	}
	return f, nil
}

func (s *surface) Premise(_ context.Context, region string) (wire.PremiseState, error) {
	if err := s.call(); err != nil {
		return wire.PremiseState{}, err
	}
	p := wire.PremiseState{Region: region, Seq: s.board.cleared}
	for _, e := range s.board.fields[region] {
		p.Seq = e.Seq
	}
	return p, nil
}

// walk is one run of the machine.
type walk struct {
	board    *fakeBoard
	states   []string
	statuses []string
	calls    int
}

var bodies = map[string]agent.Body{"lead": Lead, "log_analyst": LogAnalyst, "db_expert": DBExpert, "net_expert": NetExpert}

// summon runs one agent; dies is after how many calls it is lost the first time.
func (w *walk) summon(t *testing.T, state, name string, dies int) {
	t.Helper()
	sum := &wire.Summons{Type: "summons", State: state, Agent: name}
	if dies > 0 {
		if err := bodies[name](t.Context(), sum, &surface{board: w.board, agent: name, dies: dies}); err == nil {
			return
		}
	}
	s := &surface{board: w.board, agent: name}
	if err := bodies[name](t.Context(), sum, s); err != nil {
		t.Fatalf("%s in %s: %v", name, state, err)
	}
	w.calls = max(w.calls, s.calls)
}

// run walks the machine over a folder of files, with the analysts in an order.
func run(t *testing.T, dir string, order []string, dies int, place ...string) *walk {
	t.Helper()
	t.Setenv("INCIDENT_DATA", dir)
	w := &walk{board: &fakeBoard{fields: map[string][]wire.FieldEntry{}}, states: []string{"open"}}
	for _, f := range place {
		author, fact, _ := strings.Cut(f, " ")
		raw, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		w.board.write(author, "facts", raw)
	}
	w.summon(t, "open", "lead", 0)
	for range 10 {
		w.states = append(w.states, "investigate", "assess")
		for _, name := range order {
			w.summon(t, "investigate", name, dies)
		}
		w.summon(t, "assess", "lead", dies)
		status := w.board.text(t, "status")[0]
		w.statuses = append(w.statuses, status)
		if status == "continue" {
			w.board.again()
			continue
		}
		last := map[string]string{"solved": "resolve", "escalate": "escalate"}[status]
		w.states = append(w.states, last, "done")
		w.summon(t, last, "lead", 0)
		return w
	}
	t.Fatal("ten rounds and no end")
	return nil
}

func (b *fakeBoard) text(t *testing.T, field string) []string {
	t.Helper()
	var all []string
	for _, e := range b.fields[field] {
		var s string
		if err := json.Unmarshal(e.Value, &s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// byAuthor lists each agent's facts in the order in which it gave them.
func (b *fakeBoard) byAuthor(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for i, s := range b.text(t, "facts") {
		author := short(b.fields["facts"][i].Writer)
		all[author] = append(all[author], s)
	}
	return all
}

// expectation is what a capture's run comes to. Only tests read it.
type expectation struct {
	States     []string            `yaml:"states"`
	Statuses   []string            `yaml:"statuses"`
	Facts      map[string][]string `yaml:"facts"`
	Resolution struct {
		Contains []string `yaml:"contains"`
		Lacks    []string `yaml:"lacks"`
	} `yaml:"resolution"`
	Without []struct {
		Name     string            `yaml:"name"`
		Delete   map[string]string `yaml:"delete"`
		Status   string            `yaml:"status"`
		Contains []string          `yaml:"contains"`
	} `yaml:"without"`
}

var analysts = []string{"log_analyst", "db_expert", "net_expert"}

func eachCapture(t *testing.T, do func(t *testing.T, dir string, want expectation)) {
	t.Helper()
	files, err := filepath.Glob("../../expect/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("expectations: %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			if err := yaml.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			do(t, filepath.Join("../../captures", name), want)
		})
	}
}

func TestEachCaptureEndsAsExpected(t *testing.T) {
	eachCapture(t, func(t *testing.T, dir string, want expectation) {
		w := run(t, dir, analysts, 0)
		if !slices.Equal(w.states, want.States) || !slices.Equal(w.statuses, want.Statuses) {
			t.Errorf("states %v, statuses %v", w.states, w.statuses)
		}
		got := w.board.byAuthor(t)
		for _, name := range analysts {
			var topics []string
			for _, s := range got[name] {
				f, ok := evidence.ParseFact(s)
				if !ok {
					t.Errorf("%s wrote %q", name, s)
				}
				topics = append(topics, f.Topic)
			}
			if !slices.Equal(topics, want.Facts[name]) {
				t.Errorf("%s found %v", name, topics)
			}
		}
		resolution := w.board.text(t, "resolution")[0]
		t.Log(resolution)
		for _, s := range want.Resolution.Contains {
			if !strings.Contains(resolution, s) {
				t.Errorf("the resolution lacks %q", s)
			}
		}
		for _, s := range want.Resolution.Lacks {
			if strings.Contains(resolution, s) {
				t.Errorf("the resolution has %q", s)
			}
		}
		// The machine allows fifteen exchanges of an agent in a stage.
		if w.calls > 15 {
			t.Errorf("an agent made %d calls in one state", w.calls)
		}
	})
}

func TestOrderOfAnalystsChangesNoFact(t *testing.T) {
	eachCapture(t, func(t *testing.T, dir string, want expectation) {
		first := run(t, dir, analysts, 0)
		for _, order := range [][]string{{"net_expert", "log_analyst", "db_expert"}, {"db_expert", "net_expert", "log_analyst"}} {
			w := run(t, dir, order, 0)
			if !slices.Equal(w.states, first.states) {
				t.Errorf("%v: states %v", order, w.states)
			}
			if !maps.EqualFunc(w.board.byAuthor(t), first.board.byAuthor(t), slices.Equal) {
				t.Errorf("%v: other facts", order)
			}
		}
	})
}

func TestAgentThatDiesAnywhereAddsNothingTwice(t *testing.T) {
	eachCapture(t, func(t *testing.T, dir string, want expectation) {
		first := run(t, dir, analysts, 0)
		for dies := 1; dies < first.calls; dies++ {
			w := run(t, dir, analysts, dies)
			if !maps.EqualFunc(w.board.byAuthor(t), first.board.byAuthor(t), slices.Equal) {
				t.Errorf("dying after %d calls: other facts", dies)
			}
		}
	})
}

func TestWithoutDecisiveLinesNothingIsSolved(t *testing.T) {
	eachCapture(t, func(t *testing.T, dir string, want expectation) {
		for _, cut := range want.Without {
			t.Run(cut.Name, func(t *testing.T) {
				w := run(t, without(t, dir, cut.Delete), analysts, 0)
				if got := w.statuses[len(w.statuses)-1]; got != cut.Status {
					t.Errorf("ended in %s: %v", got, w.statuses)
				}
				resolution := w.board.text(t, "resolution")[0]
				for _, s := range cut.Contains {
					if !strings.Contains(resolution, s) {
						t.Errorf("the resolution lacks %q:\n%s", s, resolution)
					}
				}
			})
		}
	})
}

// without copies a capture and leaves out the lines that a pattern of their file
// matches.
func without(t *testing.T, dir string, patterns map[string]string) string {
	t.Helper()
	copied := t.TempDir()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(raw), "\n")
		if p, ok := patterns[e.Name()]; ok {
			n := len(lines)
			lines = slices.DeleteFunc(lines, regexp.MustCompile(p).MatchString)
			if len(lines) == n {
				t.Errorf("%s: %q matches no line", e.Name(), p)
			}
		}
		if err := os.WriteFile(filepath.Join(copied, e.Name()), []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// When the facts of the second round stand on the board already, one is enough.
func TestDecisiveFactsOnTheBoardSolveInOneRound(t *testing.T) {
	solved := 0
	eachCapture(t, func(t *testing.T, dir string, want expectation) {
		if !slices.Contains(want.Statuses, "solved") {
			return // there are no decisive facts to place
		}
		solved++
		long := run(t, dir, analysts, 0)
		var placed []string
		for author, facts := range long.board.byAuthor(t) {
			for _, f := range facts {
				placed = append(placed, author+" "+f)
			}
		}
		slices.Sort(placed)
		w := run(t, dir, analysts, 0, placed...)
		if !slices.Equal(w.statuses, []string{"solved"}) {
			t.Errorf("statuses %v", w.statuses)
		}
		if got := len(w.board.fields["facts"]); got != len(placed) {
			t.Errorf("%d facts, %d of them placed: something was said again", got, len(placed))
		}
	})
	if solved == 0 {
		t.Error("no capture is solved")
	}
}
