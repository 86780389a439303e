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
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// Area loads machine runs beside their boards.
type Area struct {
	store board.Store

	mu sync.Mutex
	// defs are compiled definitions by digest; a digest names one text for ever.
	defs map[id.Digest]*machine.Definition
}

// NewArea returns the area, for the control.NewWriter of the same store.
func NewArea(st board.Store) *Area {
	return &Area{store: st, defs: map[id.Digest]*machine.Definition{}}
}

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
	run, err := a.fold(ctx, tx, ref, def, facts.Checkpoint)
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

// pinned finds the definitions that a tenant's runs were pinned to, by digest.
func (a *Area) pinned(ctx context.Context, tenant id.Tenant) func(id.Digest) (*machine.Definition, error) {
	return func(d id.Digest) (*machine.Definition, error) {
		source, err := a.store.Blob(ctx, tenant, d)
		if err == nil && source == nil {
			err = fmt.Errorf("machines: the definition %s is not in the store", d)
		}
		if err != nil {
			return nil, err
		}
		return a.definition(d, source)
	}
}

// fold rebuilds a run from its checkpoint, the lists that the checkpoint counts,
// and every entry since; without a checkpoint, from all of its record.
func (a *Area) fold(ctx context.Context, tx board.Tx, ref id.Ref, def *machine.Definition, cp *store.Checkpoint) (*machine.Run, error) {
	defs := a.pinned(ctx, ref.Tenant)
	if cp == nil {
		return machine.Replay(defs, stream(ctx, tx, ref), math.MaxInt64)
	}
	var failed error
	run, err := machine.Restore(def, cp.Body, func(field string) []wire.FieldEntry {
		var out []wire.FieldEntry
		failed = pages(ctx, tx, ref, board.EntryQuery{Region: field, Through: cp.Seq}, func(e wire.Entry) error {
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
	run.UseDefinitions(defs)
	return run, pages(ctx, tx, ref, board.EntryQuery{After: cp.Seq}, run.Fold)
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

// errStop ends a stream that nobody reads any more.
var errStop = errors.New("stop")

// stream is a board's record from its first entry.
func stream(ctx context.Context, r entryReader, ref id.Ref) iter.Seq2[wire.Entry, error] {
	return func(yield func(wire.Entry, error) bool) {
		err := pages(ctx, r, ref, board.EntryQuery{}, func(e wire.Entry) error {
			if !yield(e, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(wire.Entry{}, err)
		}
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
