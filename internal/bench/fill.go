package main

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/wire"
)

// fill appends contributions to a board's level without asking anybody.
func fill(ctx context.Context, st board.Store, ref id.Ref, n int) error {
	const most = 2000
	for n > 0 {
		part := min(n, most)
		if err := fillPart(ctx, st, ref, part); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

func fillPart(ctx context.Context, st board.Store, ref id.Ref, n int) error {
	tx, facts, err := st.Begin(ctx, []board.Want{{Ref: ref}})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	f := facts[0]
	var region *board.Region
	for i := range f.Regions {
		if f.Regions[i].Name == level {
			region = &f.Regions[i]
		}
	}
	if region == nil {
		return fmt.Errorf("board %s has no level to fill", ref)
	}
	change := board.Change{Row: f.Row, Regions: []board.Region{*region}, Entries: make([]board.Entry, n)}
	for i := range change.Entries {
		change.Row.Head++
		sum := sha256.Sum256(fmt.Append(nil, ref, change.Row.Head))
		change.Entries[i] = board.Entry{Salt: sum[:16], Entry: wire.Entry{Seq: change.Row.Head, Region: level, Kind: wire.Level,
			Writer: writer, At: tx.Now(), Key: fmt.Sprintf("fill-%09d", change.Row.Head),
			Content: append([]byte(nil), payload...), Digest: id.Digest(fmt.Sprintf("%x", sum))}}
	}
	r := &change.Regions[0]
	if r.LastWriter != writer {
		r.Other, r.LastWriter = r.Last, writer
	}
	r.Last, r.Count = change.Row.Head, r.Count+int64(n)
	change.Row.Rev++
	change.Row.Latest = tx.Now()
	if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{change}}); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// applyMachine writes a machine's rows in a transaction of its own, with what else
// changes of its board.
func applyMachine(ctx context.Context, st store.Store, ref id.Ref, change func(f board.Facts, tx board.Tx) (board.Change, store.MachineChange)) error {
	tx, facts, err := st.Begin(ctx, []board.Want{{Ref: ref, Areas: []string{store.MachineArea}}})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	c, m := change(facts[0], tx)
	if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{c}}); err != nil {
		return err
	}
	if err := tx.(store.MachineTx).ApplyMachine(ctx, []store.MachineChange{m}); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
