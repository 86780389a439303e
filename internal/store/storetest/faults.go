package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/faults"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Statements fails single statements inside a database, below the operations of
// the contract.
type Statements interface {
	// Arm makes the n-th row that is written from now on go wrong in one of the ways; 0
	// lets every row pass and counts them.
	Arm(t testing.TB, n int, way string)
	// Written is how many rows were written and kept since it was armed with 0.
	Written(t testing.TB) int
	// Ways are the ways in which writing a row goes wrong.
	Ways() []string
}

// scenario is one call whose every operation is made to fail in every way.
type scenario struct {
	name, area string
	// prepare makes what the call needs, without faults.
	prepare func(p *process)
	// call is tried, and tried again. It is the same call each time.
	call func(p *process) error
	// again are the refusals by which a second call learns that the first one did it.
	again []refusal.Code
	// later moves the clock before the call is tried again.
	later time.Duration
	// reads says that the call changes nothing, on purpose; silent that its caller is
	// not told what it came to.
	reads, silent bool
	// parts says that its transactions do not stand on one another.
	parts bool
}

// world is one scenario's database.
type world struct {
	*testing.T
	store store.Store
	clock *Clock
	// area is shared, and reads definitions without faults: compiling one is most of
	// what a try would cost.
	area *machines.Area
	// tenant is fresh for every try.
	tenant id.Tenant
	begun  time.Time
	// held is what prepare leaves for call.
	summons *wire.Summons
	digest  id.Digest
}

// process is one process's way to the database.
type process struct {
	*world
	st       *faults.Store
	writer   *control.Writer
	boards   *boards.Service
	machines *machines.Service
	// plan is what goes wrong, once armed.
	armed bool
	first int
	plan  func(n int, c faults.Call) faults.Fault
	calls []faults.Call
}

func (w *world) process() *process {
	w.Helper()
	p := &process{world: w}
	p.st = faults.New(w.store, faults.Options{
		Plan: func(c faults.Call) faults.Fault {
			if !p.armed {
				return faults.Fault{}
			}
			if p.first == 0 {
				p.first = c.N
			}
			p.calls = append(p.calls, c)
			if p.plan == nil {
				return faults.Fault{}
			}
			return p.plan(c.N-p.first+1, c)
		},
		Slow: w.clock.Advance,
	})
	p.writer = control.NewWriter(p.st, w.area)
	var err error
	if p.boards, err = boards.New(context.Background(), p.writer, boards.Config{Now: w.clock.Now}); err != nil {
		w.Fatal(err)
	}
	p.machines = machines.New(p.writer, p.boards, w.area)
	return p
}

func (p *process) by(name string) control.Principal {
	return control.Principal{Tenant: p.tenant, Name: name}
}

func (p *process) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%+v", err)
	}
}

// Faults makes every operation of every area's calls go wrong in every way, one at
// a time. Whatever goes wrong, all of a transaction is kept or nothing; the caller
// was told the truth, or COMMIT_UNKNOWN; the same call made again comes to what it
// would have come to undisturbed; what the writer holds between calls is what a
// fresh one reads; and a machine's run verifies. With statements, every row that the
// database is made to write goes wrong in turn as well.
func Faults(t *testing.T, f Factory, statements func(t testing.TB, st store.Store) Statements) {
	var mu sync.Mutex
	seen := map[faults.Op]bool{}
	t.Run("operations", func(t *testing.T) {
		for _, sc := range scenarios {
			t.Run(sc.area+"/"+sc.name, func(t *testing.T) {
				t.Parallel()
				clock := NewClock()
				w := &world{T: t, clock: clock, store: f.Open(t, clock.Now)}
				w.area = machines.NewArea(w.store)
				defer func() {
					if err := w.store.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}()
				for _, warm := range []bool{false, true} {
					for _, op := range w.operations(sc, warm) {
						mu.Lock()
						seen[op] = true
						mu.Unlock()
					}
				}
				if statements != nil && !sc.reads {
					w.statements(sc, statements(t, w.store))
				}
			})
		}
	})
	t.Run("every operation has a scenario", func(t *testing.T) {
		for _, op := range faults.Operations() {
			if !seen[op] {
				t.Errorf("no scenario calls %s: an area that registers an operation adds a scenario", op)
			}
		}
	})
}

// operations makes every operation of the call go wrong in every way, and returns
// those there were. A warm process holds the state that prepare left with it.
func (w *world) operations(sc scenario, warm bool) []faults.Op {
	w.Helper()
	r := w.rehearse(sc, warm)
	var ops []faults.Op
	tries := 0
	for n, c := range r.calls {
		ops = append(ops, c.Op)
		for _, kind := range faults.Kinds() {
			if kind.Meets(c.Op) {
				w.try(sc, warm, false, r, n+1, kind)
				tries++
				if warm && len(r.states) == 2 {
					w.try(sc, warm, true, r, n+1, kind)
					tries++
				}
			}
		}
	}
	w.Logf("warm %v: %d operations, %d tries", warm, len(ops), tries)
	return ops
}

// rehearsal is what an undisturbed call did: its operations, and what the database
// held before it and after each of its commits.
type rehearsal struct {
	calls  []faults.Call
	states []string
}

// begin prepares a try in a tenant of its own.
func (w *world) begin(sc scenario, warm bool) *process {
	w.Helper()
	w.tenant = id.Tenant(id.New())
	// Idle and wall clock limits of the try before do not reach into this one.
	w.clock.Advance(time.Minute)
	w.begun = w.clock.Now()
	p := w.process()
	sc.prepare(p)
	if !warm {
		p = w.process()
	}
	return p
}

func (w *world) rehearse(sc scenario, warm bool) rehearsal {
	w.Helper()
	p := w.begin(sc, warm)
	r := rehearsal{states: []string{w.dump()}}
	kept := p.st.Kept()
	p.armed = true
	p.plan = func(int, faults.Call) faults.Fault {
		// What follows a commit begins another transaction: nothing is locked here.
		if p.st.Kept() > kept {
			r.states = append(r.states, w.dump())
			kept = p.st.Kept()
		}
		return faults.Fault{}
	}
	if err := sc.call(p); err != nil {
		w.Fatalf("undisturbed: %+v", err)
	}
	p.armed = false
	r.calls = p.calls
	if p.st.Kept() > kept {
		r.states = append(r.states, w.dump())
	}
	if sc.reads != (len(r.states) == 1) {
		w.Fatalf("the call made %d commits", len(r.states)-1)
	}
	if !sc.reads && r.states[0] == r.states[len(r.states)-1] {
		w.Fatal("the call changed nothing")
	}
	w.agree(p)
	w.clean(sc)
	return r
}

// try makes the n-th operation of the call go wrong. Then the process makes the call
// again or, with other, another process makes another one: what the first holds of a
// transaction that failed must not pass for what the other wrote since.
func (w *world) try(sc scenario, warm, other bool, r rehearsal, n int, kind faults.Kind) {
	w.Helper()
	p := w.begin(sc, warm)
	what := fmt.Sprintf("warm %v, other %v, operation %d, %s, %s", warm, other, n, r.calls[n-1].Op, kind)
	before := p.st.Kept()
	p.armed = true
	p.plan = func(at int, _ faults.Call) faults.Fault {
		if at == n {
			return faults.Fault{Kind: kind, Delay: time.Millisecond}
		}
		return faults.Fault{}
	}
	err := sc.call(p)
	p.armed = false
	kept := p.st.Kept() - before
	w.truth(sc, what, p, r, kept, kind, err)
	switch {
	case p.st.Dead():
		p = w.process()
		w.converges(what, sc, p, r, kind == faults.Slow)
	case other:
		_, err := w.process().boards.Register(bg, p.by("other"), theBoard, wire.AgentDecl{Name: "other", SubscribesTo: wire.Only()})
		if _, refused := refusal.As(err); !refused {
			w.must(err)
		}
		w.agree(p)
	default:
		w.agree(p)
		w.converges(what, sc, p, r, kind == faults.Slow)
	}
	w.clean(sc)
}

// truth compares what is there with what the caller was told.
func (w *world) truth(sc scenario, what string, p *process, r rehearsal, kept int, kind faults.Kind, err error) {
	w.Helper()
	fail := func(format string, args ...any) {
		w.Helper()
		w.Fatalf("%s: %s\nanswer: %v\n%s", what, fmt.Sprintf(format, args...), err, lines(p.st.Trace()))
	}
	if kept >= len(r.states) {
		fail("%d commits were kept, the call makes %d", kept, len(r.states)-1)
	}
	if sc.parts {
		got := w.dump()
		at := slices.IndexFunc(r.states, func(s string) bool { return alike(got, s, kind == faults.Slow) })
		if at < 0 {
			fail("after %d commits the database holds\n%s", kept, got)
		}
		if err == nil && !alike(got, r.states[len(r.states)-1], kind == faults.Slow) {
			fail("the caller was told that it was done")
		}
	} else if got, want := w.dump(), r.states[kept]; !alike(got, want, kind == faults.Slow) {
		fail("after %d commits the database holds\n%s\nand should hold\n%s", kept, got, want)
	}
	done := kept == len(r.states)-1
	switch {
	case sc.silent, sc.parts:
	case err == nil && !done:
		fail("the caller was told that it was done")
	case err == nil, errors.Is(err, faults.ErrKilled), refusal.CodeOf(err) == refusal.CommitUnknown:
	case done && len(r.states) > 1:
		fail("the caller was told that it was not done")
	}
	switch kind {
	case faults.Slow, faults.Retry, faults.Resolved:
		if err != nil {
			fail("it should have been survived")
		}
	}
}

// converges makes the call again, undisturbed.
func (w *world) converges(what string, sc scenario, p *process, r rehearsal, shifted bool) {
	w.Helper()
	w.clock.Advance(sc.later)
	err := sc.call(p)
	if err != nil && !slices.Contains(sc.again, refusal.CodeOf(err)) {
		w.Fatalf("%s: made again: %v", what, err)
	}
	if got, want := w.dump(), r.states[len(r.states)-1]; !alike(got, want, shifted || sc.later > 0) {
		w.Fatalf("%s: made again (%v), the database holds\n%s\nand should hold\n%s", what, err, got, want)
	}
	w.agree(p)
}

// statements makes every row that the call writes go wrong in turn.
func (w *world) statements(sc scenario, st Statements) {
	w.Helper()
	p := w.begin(sc, true)
	states := []string{w.dump()}
	st.Arm(w, 0, "")
	before := p.st.Kept()
	w.must(sc.call(p))
	rows, commits := st.Written(w), p.st.Kept()-before
	states = append(states, w.dump())
	w.clean(sc)
	if commits > 1 {
		return // what one of several transactions wrote is counted with the others
	}
	for n := 1; n <= rows; n++ {
		for _, way := range st.Ways() {
			what := fmt.Sprintf("row %d of %d, %s", n, rows, way)
			p := w.begin(sc, true)
			st.Arm(w, n, way)
			err := sc.call(p)
			st.Arm(w, 0, "")
			if err == nil {
				w.Fatalf("%s: the caller was told that it was done", what)
			}
			if got := w.dump(); !alike(got, states[0], false) {
				w.Fatalf("%s: answered %v, the database holds\n%s\nand should hold\n%s", what, err, got, states[0])
			}
			w.agree(p)
			w.converges(what, sc, p, rehearsal{states: states}, false)
			w.clean(sc)
		}
	}
	w.Logf("%d rows, %d tries", rows, rows*len(st.Ways()))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%+v", err)
	}
}

// clean removes what a try made, where the next one would come across it.
func (w *world) clean(sc scenario) {
	w.Helper()
	if !sc.parts {
		return
	}
	p := w.process()
	ctx := context.Background()
	list, err := p.boards.List(ctx, p.by("cleaner"), wire.Page{})
	w.must(err)
	for _, b := range list.Boards {
		w.must(p.boards.Delete(ctx, p.by("cleaner"), b.Board))
	}
}

func lines(text []string) string {
	out := ""
	for _, line := range text {
		out += "\t" + line + "\n"
	}
	return out
}
