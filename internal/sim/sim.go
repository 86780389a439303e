package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/faults"
)

// Config is one kind of simulation.
type Config struct {
	// Open makes the store that all processes share.
	Open func(t *testing.T, now func() time.Time) store.Store
	// Between, when set, stands between the processes and the store: what the system
	// sees goes through it, what it is judged by does not.
	Between func(store.Store, *rand.Rand) store.Store
	// Polite never lets a transaction wait for a lock, for stores that wait where the
	// scheduler cannot see it.
	Polite bool
	// Steps is how many steps are drawn; 0 means 1500.
	Steps int
}

// Failure is what went wrong in one simulation.
type Failure struct {
	Seed  uint64
	Step  int
	What  string
	Trace []string
}

func (f *Failure) String() string {
	return fmt.Sprintf("seed %d, step %d: %s\nthe last of what happened:\n\t%s", f.Seed, f.Step, f.What, strings.Join(f.Trace, "\n\t"))
}

// Stats says what a simulation came to, so that one that tried nothing is noticed.
type Stats struct {
	Commits, Faults, Kills, Acknowledged, Uncertain, Repeats, Conflicts, Told, Contributions, Ended, Closed int
}

func (s *Stats) add(o Stats) {
	s.Commits += o.Commits
	s.Faults += o.Faults
	s.Kills += o.Kills
	s.Acknowledged += o.Acknowledged
	s.Uncertain += o.Uncertain
	s.Repeats += o.Repeats
	s.Conflicts += o.Conflicts
	s.Told += o.Told
	s.Contributions += o.Contributions
	s.Ended += o.Ended
	s.Closed += o.Closed
}

// clock is the clock of the store and of every process. It may be set back.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// sim is one simulation. Only one goroutine is at work at any time, but for those
// that are on their way to a place where they stand still; mu is for them.
type sim struct {
	t     *testing.T
	ctx   context.Context
	cfg   Config
	seed  uint64
	rng   *rand.Rand
	clock *clock
	// raw is the store as it is, and base as the processes see it.
	raw, base store.Store
	procs     []*proc
	calm      bool // no more faults

	mu     sync.Mutex
	step   int
	failed *Failure
	trace  []string
	stats  Stats

	boards   map[id.Ref]*view
	order    []id.Ref
	commits  map[id.Ref]time.Time // boards committed in this step, and when
	writes   []*write
	agents   *agents
	readers  []*reader
	machines []*errand
	blobs    []id.Digest

	// hotRef and hotRegion are where premises are written until hotUntil.
	hotRef    id.Ref
	hotRegion string
	hotUntil  int
}

// Run runs one simulation and returns what went wrong, or nil.
func Run(t *testing.T, seed uint64, cfg Config) (*Failure, Stats) {
	var s *sim
	synctest.Test(t, func(t *testing.T) {
		s = newSim(t, seed, cfg)
		defer s.close()
		s.setUp()
		steps := cfg.Steps
		if steps == 0 {
			steps = 1500
		}
		for s.step < steps && s.ok() {
			s.move()
		}
		s.settle()
	})
	return s.failed, s.stats
}

func newSim(t *testing.T, seed uint64, cfg Config) *sim {
	s := &sim{t: t, ctx: context.Background(), cfg: cfg, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)),
		clock:  &clock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)},
		boards: map[id.Ref]*view{}, commits: map[id.Ref]time.Time{}}
	s.raw = cfg.Open(t, s.clock.Now)
	s.base = s.raw
	if cfg.Between != nil {
		s.base = cfg.Between(s.raw, rand.New(rand.NewPCG(seed, 2)))
	}
	s.agents = newAgents(s)
	return s
}

// close lets everything that still stands come to an end.
func (s *sim) close() {
	for _, p := range s.procs {
		p.st.Kill()
	}
	for range 100 {
		for _, p := range s.procs {
			p.releaseAll()
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
	if err := s.raw.Close(); err != nil {
		s.fail("closing the store: %v", err)
	}
}

func (s *sim) ok() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed == nil
}

// traceLines is how much of what happened a failure tells.
const traceLines = 60

// note adds a line to the trace.
func (s *sim) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.trace) >= traceLines {
		s.trace = s.trace[1:]
	}
	s.trace = append(s.trace, fmt.Sprintf("%d: ", s.step)+fmt.Sprintf(format, args...))
}

// fail keeps the first thing that went wrong.
func (s *sim) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = &Failure{Seed: s.seed, Step: s.step, What: fmt.Sprintf(format, args...), Trace: append([]string(nil), s.trace...)}
	}
}

// chance is true one time in n.
func (s *sim) chance(n int) bool { return s.rng.IntN(n) == 0 }

func pick[T any](s *sim, from []T) T { return from[s.rng.IntN(len(from))] }

// move makes one step: it lets a call that waits go on, begins another, moves the
// clock, or kills a process or starts one again.
func (s *sim) move() {
	s.step++
	gates := s.gates()
	switch n := s.rng.IntN(100); {
	case n < 62 && len(gates) > 0:
		s.release(pick(s, gates))
	case n < 90:
		if p := s.idle(); p != nil {
			p.begin()
		} else if len(gates) > 0 {
			s.release(pick(s, gates))
		}
	case n < 97:
		s.jump()
	case n < 98:
		if p := pick(s, s.procs); !p.st.Dead() {
			s.note("%s is killed", p.name)
			p.kill()
		}
	default:
		if p := pick(s, s.procs); p.st.Dead() && p.running() == 0 {
			p.start()
		}
	}
	s.rest()
}

// jump moves the clock: a little as a rule, far at times, and back now and then.
func (s *sim) jump() {
	d := time.Duration(s.rng.IntN(2000)) * time.Millisecond
	switch s.rng.IntN(12) {
	case 0:
		d = time.Duration(s.rng.IntN(90)) * time.Second
	case 1:
		d = -time.Duration(s.rng.IntN(5000)) * time.Millisecond
	case 2:
		if s.chance(8) {
			d = time.Duration(1+s.rng.IntN(30)) * time.Hour
		}
	}
	s.note("the clock moves by %s", d)
	s.clock.move(d)
}

// rest waits until every call stands still, and looks at what changed.
func (s *sim) rest() {
	synctest.Wait()
	s.look()
}

// gates are the places where a call waits to go on, in an order that does not depend
// on who came first.
func (s *sim) gates() []*gate {
	var out []*gate
	for _, p := range s.procs {
		for _, g := range p.waiting() {
			if s.cfg.Polite && s.blocked(g) {
				continue
			}
			out = append(out, g)
		}
	}
	return out
}

// blocked says whether a transaction would have to wait for another one's locks.
func (s *sim) blocked(g *gate) bool {
	if g.begun || g.call.Op != faults.Begin || g.p.st.Dead() {
		return false
	}
	for _, p := range s.procs {
		if !s.base.Batching().PerBoard && p.st.Under() > 0 {
			return true
		}
		for _, held := range p.st.Held() {
			for _, ref := range g.call.Refs {
				if held == ref {
					return true
				}
			}
		}
	}
	return false
}

// idle is a process that could begin something, or nil.
func (s *sim) idle() *proc {
	var out []*proc
	for _, p := range s.procs {
		if p.running() == 0 && !p.st.Dead() {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return pick(s, out)
}

// release lets a call go on, with a fault at times.
func (s *sim) release(g *gate) {
	f := faults.Fault{}
	if !g.begun && !s.calm && s.chance(14) {
		f = s.fault(g.call.Op)
	}
	if f.Kind != faults.None {
		s.note("%s %s: %s", g.p.name, g.call, f.Kind)
		s.stats.Faults++
		g.p.hurt = true
	}
	g.p.remove(g)
	g.pass <- f
	if f.Kind == faults.Retry {
		// The writer waits for a moment; that time is not the simulation's.
		synctest.Wait()
		time.Sleep(time.Second)
	}
}

// fault draws what goes wrong with an operation.
func (s *sim) fault(op faults.Op) faults.Fault {
	var kinds []faults.Kind
	for _, k := range faults.Kinds() {
		if k.Meets(op) && (k != faults.Killed && k != faults.KilledAfter || s.chance(2)) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return faults.Fault{}
	}
	return faults.Fault{Kind: pick(s, kinds), Delay: time.Duration(s.rng.IntN(3000)) * time.Millisecond}
}
