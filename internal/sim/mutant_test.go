package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
)

// mutant is a store with a defect.
type mutant struct {
	store.Store
	rng *rand.Rand
	mu  sync.Mutex
	// facts spoils what is read, apply what is written, and commit how it is kept.
	facts  func(m *mutant, f *board.Facts)
	apply  func(m *mutant, c *board.Changes)
	commit func(m *mutant, t *mutantTx) error
	// owed is a commit that was answered and not made.
	owed board.Tx
}

// now is true one time in n.
func (m *mutant) now(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n) == 0
}

func (m *mutant) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	m.mu.Lock()
	owed := m.owed
	m.owed = nil
	m.mu.Unlock()
	if owed != nil {
		if err := owed.Commit(ctx); err != nil {
			return nil, nil, err
		}
	}
	tx, facts, err := m.Store.Begin(ctx, wants)
	if err != nil {
		return nil, nil, err
	}
	if m.facts != nil {
		for i := range facts {
			m.facts(m, &facts[i])
		}
	}
	return &mutantTx{Tx: tx, MachineTx: tx.(store.MachineTx), m: m}, facts, nil
}

type mutantTx struct {
	board.Tx
	store.MachineTx
	m     *mutant
	owed  bool
	wrote bool
}

func (t *mutantTx) Apply(ctx context.Context, c board.Changes) error {
	t.wrote = true
	if t.m.apply != nil {
		c.Boards = slices.Clone(c.Boards)
		for i := range c.Boards {
			c.Boards[i].Entries = slices.Clone(c.Boards[i].Entries)
			c.Boards[i].Outbox = slices.Clone(c.Boards[i].Outbox)
		}
		t.m.apply(t.m, &c)
	}
	return t.Tx.Apply(ctx, c)
}

func (t *mutantTx) Commit(ctx context.Context) error {
	if t.m.commit != nil {
		return t.m.commit(t.m, t)
	}
	return t.Tx.Commit(ctx)
}

func (t *mutantTx) Rollback() error {
	if t.owed {
		return nil
	}
	return t.Tx.Rollback()
}

// mutants are the defects that the simulation has to find. Each is rare.
var mutants = []struct {
	name string
	with func(m *mutant)
}{
	{"it drops a notification's row", func(m *mutant) {
		m.apply = func(m *mutant, c *board.Changes) {
			for i := range c.Boards {
				if o := c.Boards[i].Outbox; len(o) > 0 && m.now(20) {
					c.Boards[i].Outbox = o[1:]
				}
			}
		}
	}},
	{"it skips a sequence number", func(m *mutant) {
		m.apply = func(m *mutant, c *board.Changes) {
			for i := range c.Boards {
				if e := c.Boards[i].Entries; len(e) > 0 && m.now(20) {
					e[len(e)-1].Seq++
					c.Boards[i].Row.Head++
				}
			}
		}
	}},
	{"it applies a write twice", func(m *mutant) {
		m.apply = func(m *mutant, c *board.Changes) {
			for i := range c.Boards {
				if e := c.Boards[i].Entries; len(e) > 0 && m.now(20) {
					again := e[len(e)-1]
					again.Seq++
					again.Key = ""
					c.Boards[i].Entries = append(e, again)
					c.Boards[i].Row.Head++
				}
			}
		}
	}},
	{"it forgets a key", func(m *mutant) {
		m.facts = func(m *mutant, f *board.Facts) {
			if m.now(10) {
				f.Keys = nil
			}
		}
		m.apply = func(m *mutant, c *board.Changes) {
			for i := range c.Boards {
				for j := range c.Boards[i].Entries {
					if m.now(10) {
						c.Boards[i].Entries[j].Key = ""
					}
				}
			}
		}
	}},
	{"it answers before it commits", func(m *mutant) {
		m.commit = func(m *mutant, t *mutantTx) error {
			if !t.wrote || !m.now(20) {
				return t.Tx.Commit(context.Background())
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			t.owed = true
			m.owed = t.Tx
			return nil
		}
	}},
	{"it answers and does not commit", func(m *mutant) {
		m.commit = func(m *mutant, t *mutantTx) error {
			if t.wrote && m.now(20) {
				return t.Tx.Rollback()
			}
			return t.Tx.Commit(context.Background())
		}
	}},
	{"it moves an agent's cursor", func(m *mutant) {
		m.apply = func(m *mutant, c *board.Changes) {
			for i := range c.Boards {
				for j := range c.Boards[i].Agents {
					if m.now(10) {
						c.Boards[i].Agents[j].Told = id.Seq(c.Boards[i].Row.Head)
						c.Boards[i].Agents[j].Cursor = 0
					}
				}
			}
		}
	}},
}

// TestSimFindsDefects runs stores with one defect each: the simulation that finds
// nothing in them would find nothing anywhere.
func TestSimFindsDefects(t *testing.T) {
	const within = 50
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= within; seed++ {
				failure, _ := Run(t, seed, Config{Open: openMemory, Between: func(st store.Store, rng *rand.Rand) store.Store {
					out := &mutant{Store: st, rng: rng}
					m.with(out)
					return out
				}})
				if failure != nil {
					t.Logf("found by seed %d, step %d: %.150s", seed, failure.Step, failure.What)
					return
				}
			}
			t.Errorf("%d seeds did not find it", within)
		})
	}
}

// TestSimRepeats runs one seed twice: everything has to follow from it.
func TestSimRepeats(t *testing.T) {
	for seed := range uint64(5) {
		// A defect at the end makes both tell their trace.
		late := func(st store.Store, rng *rand.Rand) store.Store {
			m := &mutant{Store: st, rng: rng}
			n := 0
			m.apply = func(_ *mutant, c *board.Changes) {
				if n++; n > 40 {
					for i := range c.Boards {
						c.Boards[i].Row.Head += id.Seq(min(1, len(c.Boards[i].Entries)))
					}
				}
			}
			return m
		}
		cfg := Config{Open: openMemory, Between: late}
		one, oneStats := Run(t, seed, cfg)
		two, twoStats := Run(t, seed, cfg)
		if one == nil || two == nil {
			t.Fatalf("seed %d: the defect was not found: %v, %v", seed, one, two)
		}
		if one.Step != two.Step || oneStats != twoStats || !slices.Equal(one.Trace, two.Trace) {
			t.Errorf("seed %d ran differently the second time:\n%s\n%+v\n%s\n%+v", seed, one, oneStats, two, twoStats)
		}
	}
}
