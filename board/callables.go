package board

import (
	"context"

	"github.com/slate-agents/slate/wire"
)

// Callables are what no store holds, because a function is not data: every process
// that acts on a board is given them again (B13). Each is optional. None is called
// while a lock is held.
type Callables struct {
	// Admission is asked on every proposed write before it is sequenced (B5). head is
	// the board's position as the rule may look at it.
	Admission func(ctx context.Context, p Proposal) Verdict
	// Termination is asked when the idle limit passes; true means that the application
	// has what it needs (B12).
	Termination func(ctx context.Context, b wire.BoardState) bool
	// Opened is called after a run opened, Closed after this process closed one.
	Opened func(ctx context.Context, b wire.BoardState)
	Closed func(ctx context.Context, b wire.BoardState, o wire.Outcome)
	// Notify are the agents that this process holds callables for, by name. Reach
	// sends a notification to an address. A process given neither reaches nobody; an
	// agent with a callable is not also reached by its address.
	Notify map[string]Notifier
	Reach  func(ctx context.Context, address string, n wire.Notification) error
	// Undelivered is told of a notification that was given up.
	Undelivered func(ctx context.Context, u Undelivered)
}

// Notifier receives one agent's notifications in this process, one at a time, in
// order. An error is a failure and the notification is sent again, unless it is a
// *refusal.Refusal: then the agent would answer the same next time.
type Notifier func(ctx context.Context, n wire.Notification) error

// Undelivered is a notification that was given up, and why.
type Undelivered struct {
	Address      string
	Agent        string
	Notification wire.Notification
	// Tries is how often it was sent.
	Tries int
	Err   error
}
