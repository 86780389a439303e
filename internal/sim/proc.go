package sim

import (
	"fmt"
	"sort"
	"sync"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/store/faults"
)

// proc is one process over the shared store. Killed and started again it is another
// one under the same name: nothing of its memory stays.
type proc struct {
	s    *sim
	name string
	life int
	// reaches says that it holds the agents' callables.
	reaches bool

	st       *faults.Store
	writer   *control.Writer
	boards   *boards.Service
	machines *machines.Service
	workers  []*worker

	mu    sync.Mutex
	at    []*gate
	tasks int
	// hurt says that a fault met the call under way, so that it may fail.
	hurt bool
}

// gate is where a call stands: before an operation, or after it got its locks.
type gate struct {
	p     *proc
	call  faults.Call
	begun bool
	pass  chan faults.Fault
}

func (p *proc) start() {
	p.life++
	p.s.note("%s starts", p.name)
	p.workers = nil
	st := faults.New(p.s.base, faults.Options{Plan: p.plan, Done: p.done, Slow: p.s.clock.move})
	p.st = st
	area := machines.NewArea(st)
	p.writer = control.NewWriter(st, area)
	var err error
	p.boards, err = boards.New(p.s.ctx, p.writer, boards.Config{Now: p.s.clock.Now,
		Callables: func(ref id.Ref) board.Callables { return p.callables(ref, st) }})
	if err != nil {
		p.s.fail("starting %s: %v", p.name, err)
	}
	p.machines = machines.New(p.writer, p.boards, area)
}

func (p *proc) kill() {
	p.s.stats.Kills++
	p.hurt = true
	p.st.Kill()
}

// plan stops a call before an operation until the scheduler lets it go on.
func (p *proc) plan(c faults.Call) faults.Fault { return p.stand(c, false) }

// done stops a call that got its locks, and notes what was committed.
func (p *proc) done(c faults.Call, tx board.Tx, err error) {
	if err != nil {
		return
	}
	switch c.Op {
	case faults.Begin:
		p.stand(c, true)
	case faults.Commit:
		p.s.mu.Lock()
		p.s.stats.Commits++
		for _, ref := range c.Refs {
			p.s.commits[ref] = tx.Now()
		}
		p.s.mu.Unlock()
	}
}

func (p *proc) stand(c faults.Call, begun bool) faults.Fault {
	g := &gate{p: p, call: c, begun: begun, pass: make(chan faults.Fault, 1)}
	p.mu.Lock()
	p.at = append(p.at, g)
	p.mu.Unlock()
	return <-g.pass
}

func (p *proc) waiting() []*gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := append([]*gate(nil), p.at...)
	sort.SliceStable(out, func(i, j int) bool {
		return fmt.Sprint(out[i].call.Refs, out[i].call.Op) < fmt.Sprint(out[j].call.Refs, out[j].call.Op)
	})
	return out
}

func (p *proc) remove(g *gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.at {
		if other == g {
			p.at = append(p.at[:i], p.at[i+1:]...)
			return
		}
	}
}

// releaseAll lets every call go on that stands.
func (p *proc) releaseAll() {
	for _, g := range p.waiting() {
		p.remove(g)
		g.pass <- faults.Fault{}
	}
}

func (p *proc) running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks
}

// run begins a call on a goroutine of its own.
func (p *proc) run(what string, call func()) {
	p.s.note("%s %s", p.name, what)
	p.mu.Lock()
	if p.tasks == 0 {
		p.hurt = false
	}
	p.tasks++
	p.mu.Unlock()
	go func() {
		defer func() {
			if v := recover(); v != nil {
				p.s.fail("%s %s panicked: %v", p.name, what, v)
			}
			p.mu.Lock()
			p.tasks--
			p.mu.Unlock()
		}()
		call()
	}()
}

// callables are what a process holds for every board, if it reaches agents at all.
// st is the life of the process that they belong to.
func (p *proc) callables(ref id.Ref, st *faults.Store) board.Callables {
	c := board.Callables{Admission: admission}
	if judged(ref) {
		c.Termination = termination
	}
	if !p.reaches {
		return c
	}
	p.s.agents.callables(p, ref, st, &c)
	return c
}
