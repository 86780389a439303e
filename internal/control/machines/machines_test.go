package machines_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

const document = `
fsm:
  name: notes
  version: 1
  initialState: gather
  context:
    facts: { type: list, of: string }
    done:  { type: boolean }
    paper: { type: blob }
  agents:
    a: { canTransition: [gather] }
  states:
    gather:
      description: "Facts: {{ context.facts }}"
      requires:
        - { name: done, from: { agent: a } }
        - { name: facts, from: { agent: a }, required: false }
        - { name: paper, from: { agent: a }, required: false }
      transitions: [ { toState: end } ]
    end: { terminal: true }
  policy: { checkpointEvery: 1 }
`

// process is one process's services over a store.
type process struct {
	t        *testing.T
	boards   *boards.Service
	machines *machines.Service
	clock    func() time.Time
}

var by = control.Principal{Tenant: "acme", Name: "operator"}

func begin(t *testing.T, st store.Store, clock func() time.Time) *process {
	t.Helper()
	area := machines.NewArea(st)
	w := control.NewWriter(st, area)
	b, err := boards.New(context.Background(), w, boards.Config{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return &process{t, b, machines.New(w, b, area), clock}
}

// stores runs a test over each store with machines, each with a clock that stands.
func stores(t *testing.T, test func(t *testing.T, st store.Store, clock func() time.Time)) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	t.Run("memory", func(t *testing.T) { test(t, memory.New(memory.Options{Now: clock}), clock) })
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, st, clock)
	})
}

func load(t *testing.T, text string) *machine.Definition {
	t.Helper()
	def, err := machine.Load("notes.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func (p *process) open(text string) machines.Opened {
	p.t.Helper()
	o, err := p.machines.Open(context.Background(), by, "n", load(p.t, text), wire.RunLimits{})
	if err != nil {
		p.t.Fatal(err)
	}
	return o
}

// summoned claims the agent's summons.
func (p *process) summoned(agent string) *machines.Surface {
	p.t.Helper()
	c, err := p.machines.Claim(context.Background(), by, "n", "test", map[string]time.Duration{agent: time.Minute})
	if err != nil || len(c.Summons) != 1 {
		p.t.Fatalf("claimed %+v, %v", c, err)
	}
	return p.machines.Surface(by, "n", &c.Summons[0])
}

func (p *process) update(s *machines.Surface, field string, value any) wire.Updated {
	p.t.Helper()
	u, err := s.UpdateContext(context.Background(), field, value)
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}

func (p *process) state() wire.MachineState {
	p.t.Helper()
	run, err := p.machines.Replay(context.Background(), by, "n", 0)
	if err != nil {
		p.t.Fatal(err)
	}
	return machines.StateOf("n", run)
}

func code(t *testing.T, err error, want refusal.Code) {
	t.Helper()
	if refusal.CodeOf(err) != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func TestOpeningJoinsTheRunThatIsThere(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		if o := p.open(document); o.Joined || o.Run != 1 || o.Ended != nil {
			t.Fatalf("first: %+v", o)
		}
		// Another process knows nothing yet and finds the run in the store.
		if o := begin(t, st, clock).open(document); !o.Joined {
			t.Fatalf("second: %+v", o)
		}
	})
}

func TestARunIsPinnedToItsDocument(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		_, err := p.machines.Open(context.Background(), by, "n", load(t, strings.Replace(document, "version: 1", "version: 2", 1)), wire.RunLimits{})
		code(t, err, refusal.MachineDiffers)
	})
}

func TestABoardWithoutAMachineIsNotTaken(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		_, err := p.boards.Create(context.Background(), by, wire.CreateBoard{Board: "n", Regions: []wire.RegionDecl{{Name: "x", Kind: wire.Level}}}, board.Callables{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.machines.Open(context.Background(), by, "n", load(t, document), wire.RunLimits{})
		code(t, err, refusal.BoardExists)
		_, err = p.machines.Verify(context.Background(), by, "n")
		code(t, err, refusal.NoMachine)
	})
}

func TestOnlyTheMachineWritesItsFields(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		for _, region := range []string{"facts", machine.JournalRegion} {
			_, err := p.boards.WriteLevel(context.Background(), by, "n", wire.LevelWrite{Region: region, Content: json.RawMessage(`"x"`)})
			code(t, err, refusal.MachineField)
		}
	})
}

func TestAnAttemptMadeAgainRepeatsItsWrites(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		first := p.summoned("a")
		one := p.update(first, "facts", "the pump stopped")
		// Its holder dies; another process takes over and the agent does it all again.
		p = begin(t, st, clock)
		if n, err := p.machines.ReleaseAll(context.Background(), by, "n"); n != 1 || err != nil {
			t.Fatalf("released %d, %v", n, err)
		}
		again := p.summoned("a")
		if u := p.update(again, "facts", "the pump stopped"); !u.Repeated || u.Differs || u.Seq != one.Seq {
			t.Fatalf("the same write: %+v", u)
		}
		if u := p.update(again, "facts", "the valve is shut"); u.Repeated {
			t.Fatalf("a further write: %+v", u)
		}
		_, err := first.UpdateContext(context.Background(), "facts", "late")
		code(t, err, refusal.StaleSummons)
		if f := p.state().Context[0]; len(f.Entries) != 2 {
			t.Fatalf("facts: %s", f.Value)
		}
	})
}

func TestABlobFieldRefersToAStoredValue(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		s := p.summoned("a")
		_, err := s.UpdateContext(context.Background(), "paper", "sha256:"+strings.Repeat("0", 64))
		code(t, err, refusal.UnknownBlob)
		d, err := s.PutBlob(context.Background(), []byte("a long report"))
		if err != nil {
			t.Fatal(err)
		}
		u := p.update(s, "paper", "sha256:"+string(d))
		if strings.Contains(u.Context, "a long report") || !strings.Contains(u.Context, "paper:") {
			t.Fatalf("the context block: %q", u.Context)
		}
	})
}

// TestAnErasedFactIsGoneFromTheRunToo erases what a checkpoint and the process's own
// memory were made from: neither may bring it back, and the run goes on.
func TestAnErasedFactIsGoneFromTheRunToo(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		s := p.summoned("a")
		secret := p.update(s, "facts", "her name is Ada")
		p.update(s, "facts", "the pump stopped")
		if n, err := p.boards.Erase(context.Background(), by, "n", wire.Erase{Seqs: []id.Seq{secret.Seq}, Reason: "asked for"}); n != 1 || err != nil {
			t.Fatalf("erased %d, %v", n, err)
		}
		for name, q := range map[string]*process{"this process": p, "another process": begin(t, st, clock)} {
			field, err := q.machines.Surface(by, "n", &wire.Summons{Agent: "a"}).ReadContext(context.Background(), "facts")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text, _ := json.Marshal(field); strings.Contains(string(text), "Ada") || len(field.Entries) != 2 {
				t.Errorf("%s reads %s", name, text)
			}
		}
		if u := p.update(s, "done", true); u.State != "end" || strings.Contains(u.Context, "Ada") {
			t.Errorf("the run went on to %+v", u)
		}
	})
}

func TestMigratingAddsFieldsAndKeepsWhatIsThere(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		p.update(p.summoned("a"), "facts", "the pump stopped")
		next := strings.NewReplacer("version: 1", "version: 2",
			"    paper: { type: blob }", "    paper: { type: blob }\n    cause: { type: string }",
			"- { name: done, from: { agent: a } }", "- { name: done, from: { agent: a } }\n        - { name: cause, from: { agent: b } }",
			"a: { canTransition: [gather] }", "a: { canTransition: [gather] }\n    b: { canTransition: [gather] }").Replace(document)
		standing, err := p.machines.Migrate(context.Background(), by, "n", load(t, next))
		if err != nil || standing.State != "gather" {
			t.Fatalf("%+v, %v", standing, err)
		}
		again, err := p.machines.Migrate(context.Background(), by, "n", load(t, next))
		if err != nil || again.Position != standing.Position {
			t.Fatalf("a second time: %+v, %v", again, err)
		}
		// A process that comes new folds the record across the migration.
		p = begin(t, st, clock)
		p.update(p.summoned("b"), "cause", "power")
		if got := p.state(); got.Version != 2 || len(got.Context) != 2 {
			t.Fatalf("%+v", got)
		}
		if _, err := p.machines.Verify(context.Background(), by, "n"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAMigrationThatDoesNotFitChangesNothing(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		p.update(p.summoned("a"), "facts", "the pump stopped")
		before := p.state()
		_, err := p.machines.Migrate(context.Background(), by, "n", load(t, strings.Replace(document, "facts: { type: list, of: string }", "facts: { type: map, of: string }", 1)))
		code(t, err, refusal.CannotMigrate)
		if after := p.state(); after.Position != before.Position || after.Digest != before.Digest {
			t.Fatalf("before %+v, after %+v", before, after)
		}
	})
}

func TestAPositionOutsideTheRecordIsRefused(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store, clock func() time.Time) {
		p := begin(t, st, clock)
		p.open(document)
		for _, at := range []id.Seq{-1, 99} {
			_, err := p.machines.Replay(context.Background(), by, "n", at)
			code(t, err, refusal.InvalidRequest)
		}
		_, err := p.machines.Diff(context.Background(), by, "n", wire.Between{From: 1, To: 99})
		code(t, err, refusal.InvalidRequest)
	})
}
