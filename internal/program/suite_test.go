package program_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/agent/agenttest"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/internal/program/testdata/analyst"
	"github.com/slate-agents/slate/wire"
)

func TestMain(m *testing.M) {
	if run := os.Getenv("PROGRAM_TEST_HELPER"); run != "" {
		helper(run)
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if built != "" {
			os.RemoveAll(filepath.Dir(built))
		}
		os.Exit(code)
	}))
}

// python is the interpreter; the agent protocol is promised for it, so a machine
// without one cannot say that the protocol works.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is not in PATH: install Python 3 (Debian: apt-get install python3); this test is never skipped")
	}
	return path
}

var built string

// goBody builds the Go program once.
var goBody = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gobody")
	if err != nil {
		return "", err
	}
	built = filepath.Join(dir, "gobody")
	out, err := exec.Command("go", "build", "-o", built, "./testdata/gobody").CombinedOutput()
	if err != nil {
		return "", &buildError{err, string(out)}
	}
	return built, nil
})

type buildError struct {
	err  error
	text string
}

func (e *buildError) Error() string { return e.err.Error() + ": " + e.text }

// trouble is a fact with everything that quoting can get wrong.
const trouble = "a \"quoted\" \\ back\\\\slash, a\nnew line, é 😀 <&> \u2028 {\"seq\":1},\"value\":\"x\"}],\"position\":"

func newSurface() *agenttest.Surface {
	b := agenttest.New("log_analyst",
		agenttest.Field{Name: "incident", Type: "string"},
		agenttest.Field{Name: "facts", Type: "list", Of: "string"},
		agenttest.Field{Name: "leads", Type: "list", Of: "string"},
		agenttest.Field{Name: "old", Type: "list", Of: "string"},
		agenttest.Field{Name: "hypotheses", Type: "map", Of: "string"},
		agenttest.Field{Name: "count", Type: "integer"},
	)
	b.Gathered = []string{"hypotheses"}
	b.Seed("lead", "incident", "checkout fails <since> 12:00 & before")
	b.Seed("lead", "old", "seen")
	return b
}

// bodies is the one behaviour in every form.
func bodies(t *testing.T) map[string]func(func(program.Event)) agent.Body {
	bin, err := goBody()
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) func(func(program.Event)) agent.Body {
		return func(observe func(program.Event)) agent.Body {
			return program.Body(program.Command{Args: args, Dir: "testdata"}, observe)
		}
	}
	return map[string]func(func(program.Event)) agent.Body{
		"go in process": func(func(program.Event)) agent.Body { return analyst.Body },
		"go program":    run(bin),
		"python":        run(python(t), "body.py"),
		"sh":            run("sh", "body.sh"),
	}
}

// TestOneBodyInEveryLanguage asks the same body in each form for the same work: the
// calls, the refusals and what is on the board afterwards are the same.
func TestOneBodyInEveryLanguage(t *testing.T) {
	for name, body := range bodies(t) {
		t.Run(name, func(t *testing.T) {
			b := newSurface()
			b.Seed("db_expert", "leads", "x") // met, so not to be written again
			s := b.Summons("investigate", `Find out; say "why".`, "facts", "leads", "hypotheses", "old?")
			// The fact that is last when the body reads them back is somebody else's.
			b.Before = func(_ context.Context, c agenttest.Call) error {
				if c.Name == wire.CallReadContext {
					b.Seed("db_expert", "facts", trouble)
				}
				return nil
			}
			seen := &events{}
			if err := body(seen.add)(t.Context(), s, b); err != nil {
				t.Fatalf("%v\n%v", err, seen.all())
			}
			hypothesis := "2 facts, the last: " + trouble
			want := []agenttest.Call{
				{Name: "updateContext", On: "notes", Value: `"hello"`, Refused: "UNDECLARED_FIELD"},
				{Name: "updateContext", On: "facts", Value: `"log_analyst looked at facts"`},
				{Name: "readContext", On: "facts"},
				{Name: "updateContext", On: "hypotheses", Value: mustJSON(hypothesis)},
			}
			got := b.Calls()
			for i := range got {
				got[i].Value = normal(t, got[i].Value)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("calls:\n%v\nwant:\n%v", got, want)
			}
			var hypotheses map[string]string
			if err := json.Unmarshal([]byte(b.Value("hypotheses")), &hypotheses); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(hypotheses, map[string]string{"agent:log_analyst": hypothesis}) {
				t.Errorf("hypotheses: %v", hypotheses)
			}
			if name == "go in process" {
				return
			}
			if !slices.Contains(seen.logs(), "refused: UNDECLARED_FIELD") {
				t.Errorf("log: %q", seen.logs())
			}
			last := seen.all()[len(seen.all())-1]
			if last.Kind != program.Ended || last.Status != 0 || last.Calls != 4 || last.Refusals != 1 {
				t.Errorf("last event: %+v", last)
			}
		})
	}
}

// TestABodyThatFailsDoesNotAcknowledge: in every form an error is no acknowledgment.
func TestABodyThatFailsDoesNotAcknowledge(t *testing.T) {
	for name, body := range bodies(t) {
		t.Run(name, func(t *testing.T) {
			b := newSurface()
			err := body(nil)(t.Context(), b.Summons("investigate", "Find out.", "hypotheses"), b)
			if err == nil {
				t.Fatal("acknowledged without facts")
			}
			if !strings.Contains(err.Error(), "there are no facts") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestTheSurfaceOverLines runs one body against the same surface in process and
// through agent.Run and the protocol: both see the same of every call.
func TestTheSurfaceOverLines(t *testing.T) {
	results := func(run func(*agenttest.Surface, agent.Body)) []any {
		b := newSurface()
		for _, f := range []string{"a", "b", "c"} {
			b.Seed("db_expert", "facts", f)
		}
		var got []any
		add := func(v any, err error) {
			if err != nil {
				v = err.Error()
			}
			got = append(got, v)
		}
		run(b, func(ctx context.Context, s *wire.Summons, u agent.Surface) error {
			s.Deadline = time.Time{} // the only part that differs from run to run
			add(s, nil)
			add2(add)(u.UpdateContext(ctx, "facts", "d & <e>"))
			add2(add)(u.UpdateContext(ctx, "facts", "d & <e>"))
			add2(add)(u.UpdateContext(ctx, "count", 7))
			add2(add)(u.UpdateContext(ctx, "count", json.RawMessage(`"seven"`)))
			add2(add)(u.UpdateEntry(ctx, "hypotheses", "agent:lead", "mine"))
			add2(add)(u.UpdateEntry(ctx, "hypotheses", "agent:log_analyst", "mine"))
			field, err := u.ReadContext(ctx, "facts")
			add(field, err)
			field, err = u.ReadContext(ctx, "none")
			add(field, err)
			field, err = u.ReadContext(ctx, "leads")
			add(field, err)
			regions, err := u.Regions(ctx)
			add(regions, err)
			page, err := u.Level(ctx, "facts", wire.Page{Limit: 2})
			add(page, err)
			page, err = u.Level(ctx, "facts", wire.Page{Limit: 2, Cursor: page.Next})
			add(page, err)
			page, err = u.Changes(ctx, wire.Page{Cursor: "bad"})
			add(page, err)
			premise, err := u.Premise(ctx, "count")
			add(premise, err)
			premise, err = u.Premise(ctx, "facts")
			add(premise, err)
			digest, err := u.PutBlob(ctx, []byte("blob"))
			add(digest, err)
			digest, err = u.PutBlob(ctx, nil)
			add(digest, err)
			texts, err := agent.Get[[]string](ctx, u, "facts")
			add(texts, err)
			for e, err := range agent.ChangesSince(ctx, u, "") {
				add(e, err)
			}
			b.End()
			add2(add)(u.UpdateContext(ctx, "facts", "late"))
			standing, err := u.Standing(ctx)
			add(standing, err)
			return nil
		})
		return got
	}
	direct := results(func(b *agenttest.Surface, body agent.Body) {
		if err := body(t.Context(), b.Summons("investigate", "Find out.", "facts", "hypotheses"), b); err != nil {
			t.Fatal(err)
		}
	})
	lines := results(func(b *agenttest.Surface, body agent.Body) {
		fromProgram, stdout := io.Pipe()
		stdin, toProgram := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := agent.Run(t.Context(), stdin, stdout, body)
			stdout.Close()
			ended <- err
		}()
		if err := program.Serve(t.Context(), b.Summons("investigate", "Find out.", "facts", "hypotheses"), b, fromProgram, toProgram); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
	if len(direct) != len(lines) {
		t.Fatalf("%d results in process, %d over lines", len(direct), len(lines))
	}
	for i := range direct {
		if a, b := mustJSON(direct[i]), mustJSON(lines[i]); a != b {
			t.Errorf("result %d\nin process %s\nover lines %s", i, a, b)
		}
	}
}

func add2(add func(any, error)) func(wire.Updated, error) {
	return func(u wire.Updated, err error) { add(u, err) }
}

// events collects what a body's observer is told.
type events struct {
	mu   sync.Mutex
	list []program.Event
	on   map[string]func()
}

func (e *events) add(ev program.Event) {
	e.mu.Lock()
	e.list = append(e.list, ev)
	f := e.on[ev.Line]
	if ev.Kind == program.Stalled {
		f = e.on[string(ev.Kind)]
	}
	e.mu.Unlock()
	if f != nil {
		f()
	}
}

func (e *events) all() []program.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

func (e *events) of(kind program.Kind) (out []program.Event) {
	for _, ev := range e.all() {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

func (e *events) logs() (out []string) {
	for _, ev := range e.of(program.Log) {
		out = append(out, ev.Line)
	}
	return out
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// normal rewrites JSON the way encoding/json writes it.
func normal(t *testing.T, text string) string {
	if text == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return mustJSON(v)
}
