package faults

import (
	"context"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
)

// The operations of the machine area.
var (
	LoadMachine  = register(Op{Area: "machine", Name: "LoadMachine", Tx: true})
	ApplyMachine = register(Op{Area: "machine", Name: "ApplyMachine", Tx: true})
)

var _ store.MachineTx = (*tx)(nil)

// LoadMachine is store.MachineTx.LoadMachine.
func (t *tx) LoadMachine(ctx context.Context, ref id.Ref) (store.MachineFacts, error) {
	return inside(t, LoadMachine, func() (store.MachineFacts, error) {
		return t.inner.(store.MachineTx).LoadMachine(ctx, ref)
	})
}

// ApplyMachine is store.MachineTx.ApplyMachine.
func (t *tx) ApplyMachine(ctx context.Context, changes []store.MachineChange) error {
	_, err := inside(t, ApplyMachine, func() (nothing, error) {
		return nothing{}, t.inner.(store.MachineTx).ApplyMachine(ctx, changes)
	})
	return t.applied(err)
}
