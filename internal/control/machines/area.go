// Package machines is the machine area of the writer: it runs package machine's
// reducer over a board's record, in the transaction that appends to it. A context
// field is a region of the board; what the reducer decides becomes entries,
// summons rows and, at the end, the run's outcome, all or nothing.
//
// The rules are package machine's. This package must not know how an agent is
// reached or what a program is.
package machines

import (
	"context"
	"fmt"
	"sync"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// Area loads machine runs beside their boards.
type Area struct {
	mu sync.Mutex
	// defs are compiled definitions by digest; a digest names one text for ever.
	defs map[id.Digest]*machine.Definition
}

// NewArea returns the area, for control.NewWriter.
func NewArea() *Area { return &Area{defs: map[id.Digest]*machine.Definition{}} }

// Name is store.MachineArea.
func (a *Area) Name() string { return store.MachineArea }

// held is one board's machine run between batches, and what of it is to be written.
type held struct {
	run    *machine.Run
	change store.MachineChange
}

// Load folds the run from its newest checkpoint and the record since. A board
// without a machine has no run.
func (a *Area) Load(ctx context.Context, tx board.Tx, st *board.State) (any, error) {
	mtx, ok := tx.(store.MachineTx)
	if !ok {
		return nil, fmt.Errorf("machines: the store keeps boards only")
	}
	ref := st.Row().Ref
	if !st.Found() {
		return &held{}, nil
	}
	facts, err := mtx.LoadMachine(ctx, ref)
	if err != nil || !facts.Found {
		return &held{}, err
	}
	def, err := a.definition(facts.Digest, facts.Source)
	if err != nil {
		return nil, err
	}
	run, err := fold(ctx, tx, ref, def, facts.Checkpoint)
	if err != nil {
		return nil, fmt.Errorf("machines: loading the run of board %s: %w", ref, err)
	}
	run.RestoreSummons(facts.Summons)
	return &held{run: run}, nil
}

// definition compiles a pinned text, once.
func (a *Area) definition(digest id.Digest, source []byte) (*machine.Definition, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.defs[digest]; d != nil {
		return d, nil
	}
	d, err := machine.Load("definition "+string(digest), source)
	if err != nil {
		return nil, fmt.Errorf("machines: the pinned definition no longer loads: %w", err)
	}
	if d.Digest() != digest {
		return nil, fmt.Errorf("machines: the pinned definition %s has digest %s", digest, d.Digest())
	}
	a.defs[digest] = d
	return d, nil
}

// fold rebuilds a run from its checkpoint, the lists that the checkpoint counts,
// and every entry since.
func fold(ctx context.Context, tx board.Tx, ref id.Ref, def *machine.Definition, cp *store.Checkpoint) (*machine.Run, error) {
	run := machine.New(def)
	var from id.Seq
	if cp != nil {
		from = cp.Seq
		var failed error
		restored, err := machine.Restore(def, cp.Body, func(field string) []wire.FieldEntry {
			var out []wire.FieldEntry
			failed = pages(ctx, tx, ref, board.EntryQuery{Region: field, Through: from}, func(e wire.Entry) error {
				out = append(out, wire.FieldEntry{Seq: e.Seq, Writer: e.Writer, At: e.At, Value: e.Content})
				return nil
			})
			return out
		})
		if failed != nil {
			return nil, failed
		}
		if err != nil {
			return nil, err
		}
		run = restored
	}
	return run, pages(ctx, tx, ref, board.EntryQuery{After: from}, run.Fold)
}

// entryReader is a store or a transaction of one.
type entryReader interface {
	Entries(ctx context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error)
}

// pages calls visit for every entry that the query selects, in order.
func pages(ctx context.Context, r entryReader, ref id.Ref, q board.EntryQuery, visit func(wire.Entry) error) error {
	q.Limit = wire.MaxPage
	for {
		rows, _, err := r.Entries(ctx, ref, q)
		if err != nil {
			return err
		}
		for _, e := range rows {
			if err := visit(e.Entry); err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.After = rows[len(rows)-1].Seq
	}
}

// Apply writes what changed of a run: summons rows, a checkpoint, its definition.
func (a *Area) Apply(ctx context.Context, tx board.Tx, ref id.Ref, state any) error {
	h := state.(*held)
	if h.run == nil {
		return nil
	}
	c := h.change
	c.Ref = ref
	c.Summons = h.run.DirtySummons()
	h.change = store.MachineChange{}
	if c.Digest == "" && c.Checkpoint == nil && len(c.Summons) == 0 {
		return nil
	}
	return tx.(store.MachineTx).ApplyMachine(ctx, []store.MachineChange{c})
}
