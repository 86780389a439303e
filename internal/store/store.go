// Package store is the contract between the writer and the databases: the board
// area's, which is public (board.Store), and those of the other areas. It holds
// no SQL and no rule; drivers implement it and know nothing of each other.
package store

import (
	"context"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/machine"
)

// Store is one database with every area. Its transactions implement MachineTx.
type Store interface {
	board.Store
	// SetEpoch begins a later epoch of the store, durably. An epoch that is not later
	// than the store's changes nothing.
	SetEpoch(ctx context.Context, epoch id.Epoch) error
	// Close releases the store. Calls under way finish first.
	Close() error
}

// MachineArea is the name of the machine's area in board.Want.
const MachineArea = "machine"

// MachineTx is the machine area of a transaction.
type MachineTx interface {
	// LoadMachine reads the machine rows of a board that the transaction holds.
	LoadMachine(ctx context.Context, ref id.Ref) (MachineFacts, error)
	// ApplyMachine writes machine rows. It may buffer until Commit.
	ApplyMachine(ctx context.Context, changes []MachineChange) error
}

// MachineFacts is what a store knows of the machine run on a board.
type MachineFacts struct {
	// Found is false when no machine runs on the board.
	Found bool
	// Digest pins the definition and Source is its text.
	Digest id.Digest
	Source []byte
	// Checkpoint is the newest one, or nil.
	Checkpoint *Checkpoint
	Summons    []machine.Summons
}

// Checkpoint is a machine run folded up to a position.
type Checkpoint struct {
	Seq  id.Seq
	Body []byte
}

// MachineChange is what one transaction writes of one machine run. Deleting the
// board removes its machine rows.
type MachineChange struct {
	Ref id.Ref
	// Digest, when set, pins the run to that definition, whose text is a blob.
	Digest id.Digest
	// Checkpoint, when set, is added.
	Checkpoint *Checkpoint
	// Summons are inserted or replaced, by agent; DropSummons names those that go.
	Summons     []machine.Summons
	DropSummons []string
}
