// Package incident_test runs the whole example: the machine's document, the programs
// as programs, and the captures, held against what expect says.
package incident_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// bin is where TestMain builds the programs.
var bin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "incident")
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

func expected(t *testing.T, capture string) (want expectation) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("expect", capture+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func (r *run) reaches(want expectation) {
	r.t.Helper()
	if !slices.Equal(r.states(), want.States) || !slices.Equal(r.statuses(), want.Statuses) {
		r.t.Errorf("states %v, statuses %v; want %v, %v", r.states(), r.statuses(), want.States, want.Statuses)
	}
	if got := r.topics(); !maps.EqualFunc(got, want.Facts, slices.Equal) {
		r.t.Errorf("facts %v, want %v", got, want.Facts)
	}
	for _, s := range want.Resolution.Contains {
		if !strings.Contains(r.resolution(), s) {
			r.t.Errorf("the resolution lacks %q:\n%s", s, r.resolution())
		}
	}
	for _, s := range want.Resolution.Lacks {
		if strings.Contains(r.resolution(), s) {
			r.t.Errorf("the resolution has %q:\n%s", s, r.resolution())
		}
	}
}

// TestCaptures: each capture ends as its file in expect says, whatever the folder is
// called that it lies in.
func TestCaptures(t *testing.T) {
	captures, err := filepath.Glob("expect/*.yaml")
	if err != nil || len(captures) < 2 {
		t.Fatalf("%v %v", captures, err)
	}
	for i, file := range captures {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			want := expected(t, name)
			investigate(t, filepath.Join("captures", name), nil).reaches(want)

			other := strings.TrimSuffix(filepath.Base(captures[(i+1)%len(captures)]), ".yaml")
			disguised := filepath.Join(t.TempDir(), "captures", other)
			if err := os.CopyFS(disguised, os.DirFS(filepath.Join("captures", name))); err != nil {
				t.Fatal(err)
			}
			investigate(t, disguised, nil).reaches(want)
		})
	}
}

// TestWalk holds the run over the first capture to the walk that the machine's source
// describes: six transitions, ten summonses, two rounds; facts kept with their
// authors, hypotheses cleared and formed again.
func TestWalk(t *testing.T) {
	r := investigate(t, "captures/a", nil)
	if n := len(r.of(timeline.Fired, "")); n != 6 {
		t.Errorf("%d transitions", n)
	}
	summons := r.of(timeline.Summoned, "")
	if len(summons) != 10 {
		t.Errorf("%d summonses", len(summons))
	}
	for _, e := range summons {
		if e.Attempt != 1 {
			t.Errorf("%s was asked again: %+v", e.Agent, e)
		}
	}

	// Every fact that was written stands on the board, under its author.
	facts := r.field("facts").Entries
	written := r.of(timeline.Wrote, "facts")
	if len(facts) != len(written) {
		t.Fatalf("%d facts on the board, %d were written", len(facts), len(written))
	}
	rounds := map[int]int{}
	for i, e := range written {
		rounds[e.Round]++
		if facts[i].Seq != e.Seq || facts[i].Writer != e.Agent || !bytes.Equal(facts[i].Value, e.Value) {
			t.Errorf("fact %d: %+v, written as %+v", i, facts[i], e)
		}
	}
	if rounds[1] == 0 || rounds[2] == 0 || len(rounds) != 2 {
		t.Errorf("facts by round: %v", rounds)
	}

	// Each analyst formed a hypothesis in each round; those of the first were removed
	// when the second began.
	formed := map[int][]string{}
	for _, e := range r.of(timeline.Wrote, "hypotheses") {
		formed[e.Round] = append(formed[e.Round], e.Agent)
		if e.Key != "agent:"+e.Agent {
			t.Errorf("a hypothesis of %s under %s", e.Agent, e.Key)
		}
	}
	analysts := []string{"db_expert", "log_analyst", "net_expert"}
	for round := 1; round <= 2; round++ {
		if slices.Sort(formed[round]); !slices.Equal(formed[round], analysts) {
			t.Errorf("round %d: hypotheses of %v", round, formed[round])
		}
	}
	cleared := r.of(timeline.Cleared, "hypotheses")
	if len(cleared) != 1 || len(r.of(timeline.Cleared, "status")) != 1 || len(r.of(timeline.Cleared, "facts")) != 0 {
		t.Fatalf("cleared: %+v", cleared)
	}
	standing := r.field("hypotheses").Entries
	if len(standing) != 3 {
		t.Errorf("%d hypotheses at the end", len(standing))
	}
	for _, h := range standing {
		if h.Seq <= cleared[0].Seq || h.Key != "agent:"+h.Writer {
			t.Errorf("a hypothesis that was cleared stands: %+v", h)
		}
	}
	for _, name := range []string{"incident", "status", "resolution"} {
		if e := r.field(name).Entries; len(e) != 1 || e[0].Writer != "lead" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestWithoutDecisiveLines: the same programs over the same capture less what decides
// it hand the matter to a person.
func TestWithoutDecisiveLines(t *testing.T) {
	want := expected(t, "a")
	if len(want.Without) == 0 {
		t.Fatal("nothing is left out")
	}
	for _, cut := range want.Without {
		t.Run(cut.Name, func(t *testing.T) {
			r := investigate(t, without(t, "captures/a", cut.Delete), nil)
			statuses := r.statuses()
			if statuses[len(statuses)-1] != cut.Status || r.states()[len(r.states())-2] != cut.Status {
				t.Errorf("statuses %v, states %v", statuses, r.states())
			}
			for _, s := range cut.Contains {
				if !strings.Contains(r.resolution(), s) {
					t.Errorf("the resolution lacks %q:\n%s", s, r.resolution())
				}
			}
		})
	}
}

// without copies a capture and leaves out the lines that a pattern of their file
// matches.
func without(t *testing.T, dir string, patterns map[string]string) string {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for name, pattern := range patterns {
		file := filepath.Join(copied, name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		kept := slices.DeleteFunc(slices.Clone(lines), regexp.MustCompile(pattern).MatchString)
		if len(kept) == len(lines) {
			t.Fatalf("%s: %q matches no line", name, pattern)
		}
		if err := os.WriteFile(file, []byte(strings.Join(kept, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// TestDecisiveFactsInRoundOne: when the facts of both rounds stand on the board after
// the first, whoever put them there, the same lead needs no second.
func TestDecisiveFactsInRoundOne(t *testing.T) {
	long := investigate(t, "captures/a", nil)
	said := map[string][]slate.Event{}
	for _, field := range []string{"facts", "hypotheses"} {
		for _, e := range long.of(timeline.Wrote, field) {
			if field == "facts" || e.Round == 2 {
				said[e.Agent] = append(said[e.Agent], e)
			}
		}
	}
	instead := map[string]agent.Body{}
	for name, events := range said {
		instead[name] = func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
			for _, e := range events {
				if _, err := b.UpdateContext(ctx, e.Field, e.Value); err != nil {
					return err
				}
			}
			return nil
		}
	}
	r := investigate(t, "captures/a", instead)
	if want := []string{"open", "investigate", "assess", "resolve", "done"}; !slices.Equal(r.states(), want) {
		t.Errorf("states %v, want %v", r.states(), want)
	}
	if !slices.Equal(r.statuses(), []string{"solved"}) {
		t.Errorf("statuses %v", r.statuses())
	}
	for _, s := range expected(t, "a").Resolution.Contains {
		if !strings.Contains(r.resolution(), s) {
			t.Errorf("the resolution lacks %q", s)
		}
	}
}

// TestNothingNamesACapture looks for what only somebody who knew the captures could
// have written.
func TestNothingNamesACapture(t *testing.T) {
	var files []string
	err := filepath.WalkDir("agents", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range append(files, "machine.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"captures", "expect/", "schema-change", "checkout", "9088", "2026-11-30", "No space left"} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s has %q", file, word)
			}
		}
	}
}

// TestAlteredRecord: the record of a run decides itself again, and no more once a
// single guard's result is another.
func TestAlteredRecord(t *testing.T) {
	r := investigate(t, "captures/a", nil)
	fired := r.of(timeline.Fired, "")
	i := slices.IndexFunc(fired, func(e slate.Event) bool { return e.To == "resolve" })
	if i < 0 || len(fired[i].Guards) != 1 {
		t.Fatalf("%+v", fired)
	}
	// The database keeps what was written as it was written: null is no result at all,
	// and as long as true.
	file := filepath.Join(r.data, slate.DatabaseFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	was := []byte(`"expression":"context.status == 'solved'","result":true`)
	if n := bytes.Count(data, was); n != 1 {
		t.Fatalf("the guard's result stands %d times in the database", n)
	}
	altered := bytes.Replace(data, was, bytes.Replace(was, []byte("true"), []byte("null"), 1), 1)
	if err := os.WriteFile(file, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	r.with(func(sys *slate.System) {
		_, err := sys.Board("incident-blackboard").Verify(t.Context())
		no, ok := refusal.As(err)
		if !ok || no.Code != refusal.AlteredRecord || no.Detail["seq"] != int64(fired[i].Seq) {
			t.Errorf("%v; want ALTERED_RECORD at position %d", err, fired[i].Seq)
		}
		if !strings.Contains(fmt.Sprint(err), fmt.Sprint(fired[i].Seq)) {
			t.Errorf("the message does not name position %d: %v", fired[i].Seq, err)
		}
	})
}
