package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// Call is one request to change state. It is data: what it needs to be locked and
// loaded is known before anything is, and it can be decided again from the start.
type Call interface {
	// Wants names the boards to lock and the facts to load, each time the same. Two
	// calls that may change the same thing name the same board.
	Wants() []board.Want
	// Decide decides the call on the state that Turn holds. A *refusal.Refusal is an
	// answer and must leave the state as it was; any other error is a defect, and
	// nothing that the call did is kept. The call does no I/O and reads no clock.
	Decide(t *Turn) (any, error)
}

// Area keeps rows of another decider beside a board's, in the same transaction.
// A state that an area loads is held with the board's and is as current as that.
type Area interface {
	// Name is what a call puts in Want.Areas to have the area loaded.
	Name() string
	// Load reads the area's state of the board that tx holds.
	Load(ctx context.Context, tx board.Tx, st *board.State) (any, error)
	// Apply writes what changed in the state since it was loaded or last applied.
	Apply(ctx context.Context, tx board.Tx, ref id.Ref, state any) error
}

// Turn is one call's turn in a batch: it sees every change of the calls before it.
type Turn struct {
	board.Env
	units []*unit // one a want, in order of the boards' names
	blobs []board.TenantBlob
	// collect is board.Changes.CollectBlobs.
	collect time.Time
	// one is the room for units when there is one.
	one [1]*unit
}

// unit finds a board among those that were wanted.
func (t *Turn) unit(ref id.Ref) *unit {
	if len(t.units) == 1 && t.units[0].ref == ref {
		return t.units[0]
	}
	i, ok := slices.BinarySearchFunc(t.units, ref, func(u *unit, ref id.Ref) int { return byName(u.ref, ref) })
	if !ok {
		panic(fmt.Sprintf("control: a call that did not want board %s asks for it", ref))
	}
	return t.units[i]
}

// byName orders boards as they are locked.
func byName(a, b id.Ref) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Board, b.Board))
}

// Board returns the state of a board that the call wanted.
func (t *Turn) Board(ref id.Ref) *board.State { return t.unit(ref).board }

// Area returns an area's state of a board, or nil when the call did not want it.
func (t *Turn) Area(name string, ref id.Ref) any { return t.unit(ref).areas[name] }

// SetArea gives a board an area's state that the call made.
func (t *Turn) SetArea(name string, ref id.Ref, state any) { t.unit(ref).setArea(name, state) }

// PutBlob stores a value with the call's changes.
func (t *Turn) PutBlob(tenant id.Tenant, b board.Blob) {
	t.blobs = append(t.blobs, board.TenantBlob{Tenant: tenant, Blob: b})
}

// CollectBlobs removes values that nothing refers to and that were put before an
// instant.
func (t *Turn) CollectBlobs(before time.Time) { t.collect = before }

// Receipt is what a caller learns beside its answer: how its board stands after
// the commit.
type Receipt struct {
	Ref  id.Ref
	Head id.Seq
	// Due is set when the board's outbox has something to send at once.
	Due bool
	// NextDue is a lower bound on when a sweep has something to do on the board; zero
	// means never.
	NextDue time.Time
	// Closed is set when the call closed the board's run.
	Closed *wire.Outcome
	// Opened is set when the call opened a run.
	Opened bool
}

// unit is what the writer holds of one board between batches.
type unit struct {
	ref   id.Ref
	board *board.State
	areas map[string]any
}

func (u *unit) setArea(name string, state any) {
	if u.areas == nil {
		u.areas = map[string]any{}
	}
	u.areas[name] = state
}
