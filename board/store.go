package board

import (
	"context"
	"errors"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// Store keeps boards. An implementation holds no rule of the board: it reads rows
// under a lock, writes the rows it is given, and lists. It is safe for concurrent
// use. Package boardtest is the suite that every implementation passes.
//
// A store translates its database's errors once, by code: a busy, full, read-only,
// damaged or newer database is a *refusal.Refusal (STORE_BUSY, STORE_FULL,
// STORE_READ_ONLY, STORE_DAMAGED, STORE_NEWER); a commit whose result is not known
// is COMMIT_UNKNOWN; anything else is a defect.
type Store interface {
	// Info tells which store this is.
	Info(ctx context.Context) (Info, error)
	// Batching says how the store is best written. It does not change.
	Batching() Batching
	// Begin starts a transaction, locks the boards that are wanted (in the order of
	// their names, so that two transactions cannot wait for each other; a board that
	// does not exist yet is locked by its name) and returns their facts in the order
	// of wants. A want with Shared set takes a lock that others may share.
	Begin(ctx context.Context, wants []Want) (Tx, []Facts, error)
	// Look reads one board's facts without a lock, from one consistent snapshot.
	Look(ctx context.Context, want Want) (Facts, error)
	// Entries reads part of a board's record, in the order the query asks for, and
	// the board's head as of the same snapshot. No transaction outlives the call.
	Entries(ctx context.Context, ref id.Ref, q EntryQuery) ([]Entry, id.Seq, error)
	// Boards lists boards by tenant and name, or those that are due.
	Boards(ctx context.Context, q BoardQuery) ([]Row, error)
	// Blob returns a content-addressed value, or nil when the tenant has none of
	// that digest.
	Blob(ctx context.Context, tenant id.Tenant, digest id.Digest) ([]byte, error)
}

// Tx is a transaction that holds its boards' locks until Commit or Rollback. It is
// used by one goroutine.
type Tx interface {
	// Now is the store's clock, read after the locks were taken, in UTC and whole
	// microseconds.
	Now() time.Time
	// More reads further facts of boards that the transaction already holds.
	More(ctx context.Context, wants []Want) ([]Facts, error)
	// Entries is Store.Entries inside the transaction.
	Entries(ctx context.Context, ref id.Ref, q EntryQuery) ([]Entry, id.Seq, error)
	// Apply writes what was decided. It may buffer until Commit.
	Apply(ctx context.Context, changes Changes) error
	// Commit makes everything applied durable, all of it or nothing, and releases
	// the locks. After an error nothing was kept, except that COMMIT_UNKNOWN says
	// the store cannot tell.
	Commit(ctx context.Context) error
	// Rollback releases the locks and keeps nothing. After Commit it does nothing.
	Rollback() error
}

// Info identifies a store.
type Info struct {
	// Identity is drawn once, when the store is made, and copied by a backup.
	Identity string
	Epoch    id.Epoch
	// Schema is the number of the newest migration applied.
	Schema int64
	// Mark grows with the entries that are written and never goes back while the store
	// is itself; an older copy of the store has a lower one. 0 where the store cannot
	// be copied.
	Mark int64
	// Lineage names the physical history that Mark counts in, where a copy of the store
	// can begin one of its own; otherwise it is empty.
	Lineage string
	// Durable says in a few words what a committed write survives.
	Durable string
}

// Batching is how a store wants the calls of many callers put into transactions.
type Batching struct {
	// PerBoard says that transactions on different boards may be under way side by
	// side; a batch is then of callers that wait for one board. Otherwise one
	// transaction at a time takes any mix.
	PerBoard bool
	// Calls is the most calls a transaction takes.
	Calls int
	// Parallel is the most transactions under way at once; 0 means any number.
	Parallel int
}

// MaxCalls is the Batching.Calls of the stores that come with Slate.
const MaxCalls = 64

// ErrRetry says that a transaction lost against another one and that nothing of it
// was kept: it is to be run again from the start.
var ErrRetry = errors.New("the transaction lost against another one and is to be run again")

// Want names one board and the facts that a decision about it needs.
type Want struct {
	Ref    id.Ref
	Shared bool
	// Have is the revision of a state that the caller still holds, 0 for none. A
	// store whose board is at that revision may answer Same and read no rows.
	Have int64
	// Keys are idempotency keys and Entries sequence numbers to look up.
	Keys    []string
	Entries []id.Seq
	// Blobs are digests whose presence is asked for.
	Blobs []id.Digest
	// Areas names other areas whose rows the caller will read in this transaction,
	// so that a store across a network can fetch them in the same round trip.
	Areas []string
}

// Facts is what a store knows of one board.
type Facts struct {
	// Found is false when there is no such board; the rest is then zero.
	Found bool
	// Same says that the board is still at Want.Have; only Row, Keys, Entries and
	// Blobs are filled in.
	Same    bool
	Row     Row
	Regions []Region
	Agents  []Agent
	Outbox  []Outbox
	// Outcome is that of the latest closed run, or nil.
	Outcome *wire.Outcome
	// Keys has the entry of each wanted key that was written.
	Keys map[string]Entry
	// Entries has each wanted entry that exists.
	Entries map[id.Seq]Entry
	// Blobs has the size in bytes of each wanted blob that exists.
	Blobs map[id.Digest]int64
}

// EntryQuery selects entries of one board.
type EntryQuery struct {
	// After and Through bound the sequence numbers: After < seq ≤ Through. A Through
	// of 0 means the head.
	After   id.Seq
	Through id.Seq
	// Region restricts to one region; empty means all.
	Region string
	// Newest returns the newest entries first instead of the oldest.
	Newest bool
	// Limit is the most entries returned; it must be positive.
	Limit int
}

// BoardQuery selects boards. With DueBy set it selects those of every tenant whose
// Due is at or before that instant, the earliest first; otherwise those of Tenant
// whose name is greater than After, by name.
type BoardQuery struct {
	Tenant id.Tenant
	After  id.Board
	DueBy  time.Time
	// Offset leaves out that many of the due boards, for a sweep that could do
	// nothing about them.
	Offset int
	Limit  int
}

// Changes is everything one transaction writes.
type Changes struct {
	Boards []Change
	// Blobs are stored once under their digest; putting one that is there only
	// renews the instant at which it was put.
	Blobs []TenantBlob
	// CollectBlobs, when set, removes the values of every tenant that no entry refers
	// to and that were put before this instant. A value whose last entry goes with its
	// board is removed by a later collection.
	CollectBlobs time.Time
}

// TenantBlob is a value and whose it is.
type TenantBlob struct {
	Tenant id.Tenant
	Blob
}

// Change is what one transaction writes to one board. Row holds the board as it
// then stands, its Rev one above what was read: a store without locks compares it.
type Change struct {
	Row Row
	// Delete removes the board with everything it has; Create inserts it. When both
	// are set the board is removed and then made anew.
	Delete bool
	Create bool
	// Regions and Agents are inserted or replaced, by name; Outbox by agent.
	Regions []Region
	Agents  []Agent
	Outbox  []Outbox
	// DropOutbox names agents whose outbox row goes.
	DropOutbox []string
	// DropRun removes every agent and outbox row: the run closed. It happens before
	// Agents and Outbox are written.
	DropRun bool
	// Entries are appended in order. An entry's Blobs are references that keep the
	// blobs for as long as the entry stands.
	Entries []Entry
	// Erase takes content, salt and blob references from entries and leaves the
	// tombstone. What an area keeps that was made from the content goes too: the
	// checkpoints of a machine at or after the entry.
	Erase []Tombstone
	// Outcomes are added to the record, one for each run that closed.
	Outcomes []wire.Outcome
}

// Tombstone says which entry's content goes and what stays in its place.
type Tombstone struct {
	Seq id.Seq
	wire.Erasure
}
