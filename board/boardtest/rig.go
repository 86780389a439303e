package boardtest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

var start = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// rig is one process: a store, its writer and the board area. Its methods fail the
// test when something that should work does not.
type rig struct {
	t     *testing.T
	ctx   context.Context
	f     Factory
	clock *clock
	store board.Store
	w     *control.Writer
	s     *boards.Service
	// calls are given to every create and attach.
	calls board.Callables
}

func newRig(t *testing.T, f Factory) *rig {
	c := &clock{at: start}
	return on(t, f, c, f.Open(t, c.now))
}

// on returns a process over a store.
func on(t *testing.T, f Factory, c *clock, st board.Store) *rig {
	t.Helper()
	ctx := context.Background()
	w := control.NewWriter(st)
	s, err := boards.New(ctx, w, boards.Config{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, ctx: ctx, f: f, clock: c, store: st, w: w, s: s}
}

// again is another process over the same open store.
func (r *rig) again() *rig { r.t.Helper(); return on(r.t, r.f, r.clock, r.store) }

const (
	tenant = id.DefaultTenant
	name   = id.Board("outage")
)

var ref = id.Ref{Tenant: tenant, Board: name}

// by is the principal of that name.
func by(writer string) control.Principal { return control.Principal{Tenant: tenant, Name: writer} }

// The regions that most boards of the suite have.
var regions = []wire.RegionDecl{
	{Name: "facts", Kind: wire.Level}, {Name: "ideas", Kind: wire.Level},
	{Name: "window", Kind: wire.Premise}, {Name: "goal", Kind: wire.Premise},
}

// create makes the board with the usual regions and these agents.
func (r *rig) create(agents ...wire.AgentDecl) {
	r.t.Helper()
	r.make(wire.CreateBoard{Agents: agents})
}

// make makes a board; regions and name default to the usual ones.
func (r *rig) make(c wire.CreateBoard) wire.Attached {
	r.t.Helper()
	at, err := r.s.Create(r.ctx, by("application"), defaults(c), r.calls)
	r.ok(err)
	return at
}

func defaults(c wire.CreateBoard) wire.CreateBoard {
	if c.Board == "" {
		c.Board = name
	}
	if c.Regions == nil {
		c.Regions = regions
	}
	return c
}

func (r *rig) attach() wire.Attached {
	r.t.Helper()
	at, err := r.s.Attach(r.ctx, by("application"), wire.AttachBoard{Board: name}, r.calls)
	r.ok(err)
	return at
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// refused fails unless err is a refusal with that code.
func (r *rig) refused(err error, code refusal.Code) *refusal.Refusal {
	r.t.Helper()
	got, ok := refusal.As(err)
	if !ok || got.Code != code {
		r.t.Fatalf("%v, want a refusal %s", err, code)
	}
	return got
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// level and premise write and fail unless the write reached the board.
func (r *rig) level(writer, region, content string) wire.Written {
	r.t.Helper()
	return r.wrote(r.s.WriteLevel(r.ctx, by(writer), name, wire.LevelWrite{Region: region, Content: raw(content)}))
}

func (r *rig) premise(writer, region string, expect id.Version, content string) wire.Written {
	r.t.Helper()
	w := wire.PremiseWrite{Region: region, Expect: expect}
	if content != "" {
		w.Content = raw(content)
	}
	return r.wrote(r.s.WritePremise(r.ctx, by(writer), name, w))
}

// set writes a premise whatever its version is.
func (r *rig) set(writer, region string) wire.Written {
	r.t.Helper()
	p, err := r.s.Premise(r.ctx, by(writer), name, region)
	r.ok(err)
	return r.premise(writer, region, p.Version, `"now"`)
}

func (r *rig) wrote(res wire.Result, err error) wire.Written {
	r.t.Helper()
	r.ok(err)
	if res.Written == nil || res.Conflict != nil || res.Rejection != nil {
		r.t.Fatalf("%+v %+v, want a write", res.Conflict, res.Rejection)
	}
	return *res.Written
}

// rejected fails unless a write was rejected for that cause and nothing else.
func (r *rig) rejected(res wire.Result, err error, cause refusal.Code) wire.Rejection {
	r.t.Helper()
	r.ok(err)
	if res.Rejection == nil || res.Written != nil || res.Conflict != nil || res.Rejection.Cause != cause {
		r.t.Fatalf("%+v, want a rejection %s", res, cause)
	}
	return *res.Rejection
}

func (r *rig) conflict(res wire.Result, err error) wire.Conflict {
	r.t.Helper()
	r.ok(err)
	if res.Conflict == nil || res.Written != nil || res.Rejection != nil {
		r.t.Fatalf("%+v, want a conflict", res)
	}
	return *res.Conflict
}

func (r *rig) show() wire.BoardState {
	r.t.Helper()
	v, err := r.s.Show(r.ctx, by("reader"), name)
	r.ok(err)
	return v
}

// facts are what the store has of the board.
func (r *rig) facts() board.Facts {
	r.t.Helper()
	f, err := r.store.Look(r.ctx, board.Want{Ref: ref})
	r.ok(err)
	return f
}

// agent is one agent's row on the run.
func (r *rig) agent(who string) wire.AgentState {
	r.t.Helper()
	v := r.show()
	if v.Run != nil {
		for _, a := range v.Run.Agents {
			if a.Name == who {
				return a
			}
		}
	}
	r.t.Fatalf("no agent %s on the run", who)
	return wire.AgentState{}
}

func (r *rig) changes() []wire.Entry {
	r.t.Helper()
	p, err := r.s.Changes(r.ctx, by("reader"), name, wire.Page{Limit: wire.MaxPage})
	r.ok(err)
	return p.Entries
}

func (r *rig) ack(who string, through id.Seq) {
	r.t.Helper()
	r.ok(r.s.Acknowledge(r.ctx, by(who), name, wire.Acknowledge{Through: through}))
}

func (r *rig) sweep() boards.Swept {
	r.t.Helper()
	done, err := r.s.Sweep(r.ctx)
	r.ok(err)
	return done
}

// as is the board as one agent sees it.
func (r *rig) as(who string) agent.Board { return r.s.Surface(by(who), name) }

// closed fails unless the run has closed with that outcome.
func (r *rig) closed(kind wire.OutcomeKind) wire.Outcome {
	r.t.Helper()
	v := r.show()
	if v.Run != nil || v.Outcome == nil || v.Outcome.Kind != kind {
		r.t.Fatalf("run %+v, outcome %+v, want it closed %s", v.Run, v.Outcome, kind)
	}
	return *v.Outcome
}

// ear records the notifications of the agents it listens for.
type ear struct {
	mu  sync.Mutex
	got []wire.Notification
	// then, when set, is what an agent does with a notification.
	then func(n wire.Notification) error
}

// listen gives the rig callables for agents, and returns what records their calls.
func (r *rig) listen(agents ...string) *ear {
	e := &ear{}
	r.calls.Notify = map[string]board.Notifier{}
	for _, a := range agents {
		r.calls.Notify[a] = e.hear
	}
	return e
}

func (e *ear) hear(_ context.Context, n wire.Notification) error {
	e.mu.Lock()
	e.got = append(e.got, n)
	then := e.then
	e.mu.Unlock()
	if then != nil {
		return then(n)
	}
	return nil
}

// take returns what was heard since the last take.
func (e *ear) take() []wire.Notification {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.got
	e.got = nil
	return got
}

// heard fails unless exactly these notifications were heard since the last take.
func (r *rig) heard(e *ear, want ...wire.Notification) {
	r.t.Helper()
	got := e.take()
	for i := range want {
		want[i].Board = name
	}
	same := slices.EqualFunc(got, want, func(a, b wire.Notification) bool {
		return a.Board == b.Board && a.Agent == b.Agent && a.From == b.From && a.To == b.To && slices.Equal(a.Regions, b.Regions)
	})
	if !same {
		r.t.Fatalf("heard %+v\nwant  %+v", got, want)
	}
}

// told is the notification of an agent.
func told(who string, from, to id.Seq, regions ...string) wire.Notification {
	return wire.Notification{Agent: who, From: from, To: to, Regions: regions}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}
