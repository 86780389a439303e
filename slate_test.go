package slate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// writerOf is set in the environment of a process that only writes to a folder.
const writerOf = "SLATE_TEST_WRITES_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerOf); dir != "" {
		if err := writeAll(dir, "another process"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// oneState is the smallest machine that asks somebody.
const oneState = `
fsm:
  name: small
  version: 1
  initialState: ask
  context:
    answer: { type: string }
  agents:
    a: { canTransition: [ask] }
  states:
    ask:
      description: "Answer."
      requires:
        - { name: answer, from: { agent: a } }
      transitions:
        - { toState: done }
    done: { description: "Done.", terminal: true }
  policy: { maxIterations: 1, maxExchangesPerStage: 5, maxExchangesPerAgentPerStage: 3, checkpointEvery: 1 }
`

func small(t *testing.T) slate.RunOptions {
	t.Helper()
	def, err := machine.Load("small.yaml", []byte(oneState))
	if err != nil {
		t.Fatal(err)
	}
	return slate.RunOptions{Machine: def, Agents: map[string]slate.Agent{"a": {
		Body: func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
			_, err := b.UpdateContext(ctx, "answer", "42")
			return err
		}}}}
}

// creation is a board with one level.
func creation(name id.Board) wire.CreateBoard {
	return wire.CreateBoard{Board: name, Regions: []wire.RegionDecl{{Name: "log", Kind: wire.Level}}}
}

// boardsOnly is a store of somebody else's: it keeps boards and nothing of machines.
type boardsOnly struct{ board.Store }

func (s boardsOnly) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	tx, facts, err := s.Store.Begin(ctx, wants)
	return struct{ board.Tx }{tx}, facts, err
}

func TestNewOverAnOutsideStore(t *testing.T) {
	ctx := t.Context()
	st := memory.New(memory.Options{})
	sys, err := slate.New(ctx, boardsOnly{st}, slate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, at, err := sys.Create(ctx, creation("b"), board.Callables{})
	if err != nil || at.Run != 1 {
		t.Fatalf("%+v, %v", at, err)
	}
	if res, err := b.WriteLevel(ctx, "w", wire.LevelWrite{Region: "log", Content: json.RawMessage(`1`)}); err != nil || res.Written.Seq != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := sys.RunMachine(ctx, small(t)); err == nil || !strings.Contains(err.Error(), "boards only") {
		t.Errorf("a machine on a store of boards: %v", err)
	}
	if err := sys.Close(); err != nil {
		t.Error(err)
	}
	// The store is its owner's to close.
	if _, err := st.Info(ctx); err != nil {
		t.Errorf("the store was closed: %v", err)
	}
	if _, _, err := st.Entries(ctx, id.Ref{Tenant: id.DefaultTenant, Board: "b"}, board.EntryQuery{Limit: 1}); err != nil {
		t.Errorf("the store was closed: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestClosed: closing twice is nothing, and whatever is asked afterwards is refused
// as STOPPING, not with something from below.
func TestClosed(t *testing.T) {
	for name, open := range map[string]func(context.Context) (*slate.System, error){
		"memory": func(ctx context.Context) (*slate.System, error) { return slate.Memory(ctx, slate.Options{}) },
		"sqlite": func(ctx context.Context) (*slate.System, error) {
			return slate.Open(ctx, slate.Options{Data: filepath.Join(t.TempDir(), "data")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			sys, err := open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := sys.Create(ctx, creation("b"), board.Callables{})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := sys.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			}
			_, create, createErr := sys.Create(ctx, creation("c"), board.Callables{})
			_, write := b.WriteLevel(ctx, "w", wire.LevelWrite{Region: "log", Content: json.RawMessage(`1`)})
			_, show := b.Show(ctx)
			_, level := b.Level(ctx, "log", wire.Page{})
			_, list := sys.Boards(ctx, wire.Page{})
			_, run := sys.RunMachine(ctx, small(t))
			_, blob := sys.PutBlob(ctx, []byte("x"))
			_, sweep := sys.Sweep(ctx)
			for what, err := range map[string]error{"create": createErr, "write": write, "show": show, "level": level,
				"list": list, "run": run, "blob": blob, "sweep": sweep} {
				if refusal.CodeOf(err) != refusal.Stopping {
					t.Errorf("%s: %v (%+v)", what, err, create)
				}
			}
		})
	}
}

func TestOpen(t *testing.T) {
	ctx := t.Context()
	if _, err := slate.Open(ctx, slate.Options{}); refusal.CodeOf(err) != refusal.InvalidRequest || !strings.Contains(err.Error(), "Memory") {
		t.Errorf("no folder: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{file, filepath.Join(file, "below")} {
		if _, err := slate.Open(ctx, slate.Options{Data: data}); refusal.CodeOf(err) != refusal.StoreReadOnly || !strings.Contains(err.Error(), data) {
			t.Errorf("%s: %v", data, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := slate.Open(cancelled, slate.Options{Data: filepath.Join(t.TempDir(), "data")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}

	// What one system wrote, the next one reads; the context that opened a system does
	// not end it.
	data := filepath.Join(t.TempDir(), "a", "b")
	opening, over := context.WithCancel(ctx)
	sys, err := slate.Open(opening, slate.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	over()
	if _, err := sys.RunMachine(ctx, small(t)); err != nil {
		t.Error(err)
	}
	if err := sys.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := slate.Open(ctx, slate.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	result, err := again.RunMachine(ctx, small(t))
	if err != nil || !result.Joined || result.End == nil || !result.End.Terminal {
		t.Errorf("%+v, %v", result, err)
	}
	other, err := slate.Open(ctx, slate.Options{Data: data, Tenant: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Board("small").Show(ctx); refusal.CodeOf(err) != refusal.UnknownBoard {
		t.Errorf("another tenant sees the board: %v", err)
	}
}

// each is how many entries a writer of TestOneFolder writes.
const each = 40

// writeAll opens a folder and writes to its board.
func writeAll(dir, writer string) error {
	ctx := context.Background()
	sys, err := slate.Open(ctx, slate.Options{Data: dir})
	if err != nil {
		return err
	}
	for i := range each {
		content, err := json.Marshal(fmt.Sprintf("%s %d", writer, i))
		if err != nil {
			return err
		}
		res, err := sys.Board("shared").WriteLevel(ctx, writer, wire.LevelWrite{Region: "log", Content: content})
		if err != nil {
			return errors.Join(err, sys.Close())
		}
		if res.Refusal() != nil {
			return errors.Join(res.Refusal(), sys.Close())
		}
	}
	return sys.Close()
}

// TestOneFolder: systems of one process and of several write to one folder at the
// same time; every entry is there once, in one order that all of them see.
func TestOneFolder(t *testing.T) {
	ctx := t.Context()
	data := filepath.Join(t.TempDir(), "data")
	sys, err := slate.Open(ctx, slate.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	b, _, err := sys.Create(ctx, creation("shared"), board.Callables{})
	if err != nil {
		t.Fatal(err)
	}
	writers := []string{"one", "two", "another process"}
	failed := make(chan error, len(writers))
	var all sync.WaitGroup
	for _, name := range writers {
		all.Go(func() {
			if name != "another process" {
				failed <- writeAll(data, name)
				return
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), writerOf+"="+data)
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			failed <- err
		})
	}
	all.Wait()
	for range writers {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.Changes(ctx, wire.Page{Limit: wire.MaxPage})
	if err != nil || len(page.Entries) != each*len(writers) || page.More {
		t.Fatalf("%d entries, more %v, %v", len(page.Entries), page.More, err)
	}
	next := map[string]int{}
	for i, e := range page.Entries {
		want := fmt.Sprintf("%q", fmt.Sprintf("%s %d", e.Writer, next[e.Writer]))
		if e.Seq != id.Seq(i+1) || string(e.Content) != want {
			t.Fatalf("entry %d: %+v, want %s", i+1, e, want)
		}
		next[e.Writer]++
	}
}

// TestClock: a system that is given a clock does nothing by itself; what has passed
// takes effect when it is looked at.
func TestClock(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	sys, err := slate.Memory(ctx, slate.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	c := creation("b")
	c.Limits = wire.RunLimits{WallClock: time.Hour}
	b, _, err := sys.Create(ctx, c, board.Callables{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		by   time.Duration
		open bool
	}{{time.Hour - time.Microsecond, true}, {time.Microsecond, false}} {
		now = now.Add(step.by)
		if _, err := sys.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		v, err := b.Show(ctx)
		if err != nil || (v.Run != nil) != step.open {
			t.Errorf("at %s: %+v, %v", now, v.Run, err)
		}
		if !step.open && (v.Outcome == nil || v.Outcome.Kind != wire.WallClockExpired) {
			t.Errorf("%+v", v.Outcome)
		}
	}
}

// TestBoardOfNobody: a handle to a board that does not exist says so, whatever it is
// asked, and makes nothing.
func TestBoardOfNobody(t *testing.T) {
	ctx := t.Context()
	sys, err := slate.Memory(ctx, slate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	b := sys.Board("nobody")
	_, show := b.Show(ctx)
	_, level := b.Level(ctx, "log", wire.Page{})
	_, premise := b.Premise(ctx, "log")
	_, changes := b.Changes(ctx, wire.Page{})
	_, write := b.WriteLevel(ctx, "w", wire.LevelWrite{Region: "log", Content: json.RawMessage(`1`)})
	_, register := b.Register(ctx, wire.AgentDecl{Name: "a"})
	_, abort := b.Abort(ctx, "w", "why")
	_, erase := b.Erase(ctx, "w", wire.Erase{Seqs: []id.Seq{1}})
	_, replay := b.Replay(ctx, 0)
	_, verify := b.Verify(ctx)
	timeline := b.Timeline(ctx, func(slate.Event) error { return nil })
	for what, err := range map[string]error{"show": show, "level": level, "premise": premise, "changes": changes, "write": write,
		"register": register, "abort": abort, "erase": erase, "replay": replay, "verify": verify, "timeline": timeline, "delete": b.Delete(ctx)} {
		if refusal.CodeOf(err) != refusal.UnknownBoard {
			t.Errorf("%s: %v", what, err)
		}
	}
	list, err := sys.Boards(ctx, wire.Page{})
	if err != nil || len(list.Boards) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
