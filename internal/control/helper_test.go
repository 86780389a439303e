package control

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is a call made of functions.
type call struct {
	wants []board.Want
	do    func(t *Turn) (any, error)
}

func (c call) Wants() []board.Want         { return append([]board.Want(nil), c.wants...) }
func (c call) Decide(t *Turn) (any, error) { return c.do(t) }

func refOf(b id.Board) id.Ref { return id.Ref{Tenant: "t", Board: b} }

// create makes a board with one level and one premise.
func create(b id.Board) call {
	return call{[]board.Want{{Ref: refOf(b)}}, func(t *Turn) (any, error) {
		return t.Board(refOf(b)).Create(t.Env, wire.CreateBoard{Board: b, Regions: []wire.RegionDecl{
			{Name: "level", Kind: wire.Level}, {Name: "premise", Kind: wire.Premise}}})
	}}
}

// write adds to a board's level.
func write(b id.Board) call {
	return call{[]board.Want{{Ref: refOf(b)}}, func(t *Turn) (any, error) {
		res, err := t.Board(refOf(b)).WriteLevel(t.Env, "w", wire.LevelWrite{Region: "level", Content: json.RawMessage(`1`)}, board.Verdict{})
		if err != nil {
			return nil, err
		}
		return res.Written.Seq, nil
	}}
}

// remove deletes a board.
func remove(b id.Board) call {
	return call{[]board.Want{{Ref: refOf(b)}}, func(t *Turn) (any, error) { return nil, t.Board(refOf(b)).Delete() }}
}

// probe is a store that counts and can be made to fail. Its functions may be nil.
type probe struct {
	board.Store
	mu       sync.Mutex
	begins   [][]board.Want
	same     int
	commits  int
	batching *board.Batching
	onBegin  func(n int) error
	onApply  func() error
	onCommit func(n int) (err error, commit bool)
}

func (p *probe) Batching() board.Batching {
	if p.batching != nil {
		return *p.batching
	}
	return board.Batching{Calls: board.MaxCalls}
}

func (p *probe) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	p.mu.Lock()
	p.begins = append(p.begins, wants)
	n, hook := len(p.begins), p.onBegin
	p.mu.Unlock()
	if hook != nil {
		if err := hook(n); err != nil {
			return nil, nil, err
		}
	}
	tx, facts, err := p.Store.Begin(ctx, wants)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range facts {
		if f.Same {
			p.same++
		}
	}
	return probeTx{tx, p}, facts, err
}

type probeTx struct {
	board.Tx
	p *probe
}

func (t probeTx) Apply(ctx context.Context, c board.Changes) error {
	if t.p.onApply != nil {
		if err := t.p.onApply(); err != nil {
			return err
		}
	}
	return t.Tx.Apply(ctx, c)
}

func (t probeTx) Commit(ctx context.Context) error {
	t.p.mu.Lock()
	t.p.commits++
	n, hook := t.p.commits, t.p.onCommit
	t.p.mu.Unlock()
	if hook != nil {
		if err, commit := hook(n); err != nil {
			if commit {
				_ = t.Tx.Commit(ctx)
			}
			return err
		}
	}
	return t.Tx.Commit(ctx)
}

func newProbe() *probe { return &probe{Store: memory.New(memory.Options{})} }

// reset forgets what was counted.
func (p *probe) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begins, p.same, p.commits = nil, 0, 0
}

// must runs a call that has to succeed.
func must(t *testing.T, w *Writer, c Call) any {
	t.Helper()
	got, _, err := w.Do(context.Background(), "t", c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// head is a board's position in the store.
func head(t *testing.T, s board.Store, b id.Board) id.Seq {
	t.Helper()
	f, err := s.Look(context.Background(), board.Want{Ref: refOf(b)})
	if err != nil {
		t.Fatal(err)
	}
	return f.Row.Head
}

// goroutine names the goroutine that runs this.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), " [")
	return name
}

// outcome is what one caller was answered.
type outcome struct {
	answer  any
	receipt Receipt
	err     error
}

// crowd is callers that wait while the first one's batch is held up.
type crowd struct {
	w    *Writer
	all  sync.WaitGroup
	mu   sync.Mutex
	done []*outcome
}

// join starts a caller; its outcome is filled in when it is answered.
func (c *crowd) join(ctx context.Context, tenant id.Tenant, call Call) *outcome {
	o := &outcome{}
	c.all.Go(func() {
		answer, receipt, err := c.w.Do(ctx, tenant, call)
		c.mu.Lock()
		defer c.mu.Unlock()
		*o = outcome{answer, receipt, err}
		c.done = append(c.done, o)
	})
	return o
}

func (c *crowd) answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.done)
}
