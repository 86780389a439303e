package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// Writer is the one path by which state changes. It is safe for concurrent use and
// starts no goroutine: callers lead batches in turn.
type Writer struct {
	store    board.Store
	batching board.Batching
	areas    map[string]Area
	cache    *cache
	// slots bounds the transactions under way; nil when the lanes do.
	slots chan struct{}

	mu    sync.Mutex
	lanes map[id.Ref]*lane
	// spare is a lane that nobody waits in, to be used again.
	spare *lane
}

// maxHeld is the most boards whose state is held between batches.
const maxHeld = 4096

// NewWriter returns the writer of a store. A store is written through one writer a
// process; other processes may write it too.
func NewWriter(store board.Store, areas ...Area) *Writer {
	w := &Writer{store: store, batching: store.Batching(), areas: map[string]Area{}, cache: newCache(maxHeld), lanes: map[id.Ref]*lane{}}
	if w.batching.Calls < 1 {
		w.batching.Calls = 1
	}
	if w.batching.PerBoard && w.batching.Parallel > 0 {
		w.slots = make(chan struct{}, w.batching.Parallel)
	}
	for _, a := range areas {
		w.areas[a.Name()] = a
	}
	return w
}

// Store is the store that the writer writes, for reading.
func (w *Writer) Store() board.Store { return w.store }

// defect is a call that panicked.
type defect struct {
	value any
	stack []byte
}

func (d *defect) Error() string { return fmt.Sprintf("a call panicked: %v\n%s", d.value, d.stack) }

// errAlone makes a batch's calls run one by one.
var errAlone = errors.New("control: a board with other areas' rows is deleted or erased from in a transaction of its own")

// run decides a batch in one transaction and sets the answer of every call. When
// the transaction fails, the calls are run again one by one, so that one call's
// failure is not its batch-mates'.
func (w *Writer) run(ctx context.Context, d *desk, batch []*pending) {
	err := w.persist(ctx, d, batch)
	switch {
	case err == nil:
	case len(batch) == 1 || refusal.CodeOf(err) == refusal.CommitUnknown:
		for _, p := range batch {
			p.fail(err)
		}
	default:
		for _, p := range batch {
			if err := w.persist(ctx, d, []*pending{p}); err != nil {
				p.fail(err)
			}
		}
	}
	for _, p := range batch[1:] {
		p.turn <- false
	}
}

// The waits before a transaction that lost against another one is run again, and
// how long that may go on.
const (
	firstRetry  = time.Millisecond
	longRetry   = 100 * time.Millisecond
	retryWithin = time.Minute
)

// persist is attempt, run again with jitter while the store asks for it.
func (w *Writer) persist(ctx context.Context, d *desk, batch []*pending) error {
	wait, begun := firstRetry, time.Time{}
	for {
		err := w.attempt(ctx, d, batch)
		if !errors.Is(err, board.ErrRetry) {
			return err
		}
		if begun.IsZero() {
			begun = time.Now()
		}
		if time.Since(begun) > retryWithin {
			return refusal.New(refusal.StoreBusy, "", "other transactions were in the way for %s: %v", retryWithin, err).
				WithFix("nothing was written: try again later")
		}
		time.Sleep(wait/2 + mathrand.N(wait))
		wait = min(2*wait, longRetry)
	}
}

// desk is where a leader works: what a transaction of one call needs room for. A lane
// has one, because only one leads it at a time.
type desk struct {
	turn   Turn
	change [1]board.Change
}

// clear leaves nothing of a transaction for the next one, or for the collector to keep.
func (d *desk) clear() { *d = desk{} }

// attempt is one transaction. Its error means that nothing was kept, except that
// COMMIT_UNKNOWN means what it says.
func (w *Writer) attempt(ctx context.Context, d *desk, batch []*pending) (err error) {
	// A panic that went up from here would leave the writer without a leader. One that
	// comes out of a commit does not say whether it was made.
	committing := false
	defer func() {
		if v := recover(); v != nil {
			err = &defect{value: v, stack: debug.Stack()}
			if committing {
				err = refusal.New(refusal.CommitUnknown, "", "commit: %v", err).
					WithFix("read the board again to see whether the write is there")
			}
		}
	}()
	defer d.clear()
	turn := &d.turn
	turn.Salt, turn.NewID = salt, id.New
	wants := w.wants(batch, turn)
	tx, facts, err := w.store.Begin(ctx, wants)
	if err != nil {
		return err
	}
	// After a commit this does nothing.
	defer tx.Rollback()

	turn.Now = tx.Now()
	for i := range wants {
		want, u := &wants[i], turn.units[i]
		if u == nil || !facts[i].Same {
			u = &unit{ref: want.Ref, board: board.NewState(want.Ref, facts[i])}
		} else {
			u.board.Ask(facts[i])
		}
		for _, name := range want.Areas {
			if _, ok := u.areas[name]; ok {
				continue
			}
			area := w.areas[name]
			if area == nil {
				return fmt.Errorf("control: no area %q is registered", name)
			}
			state, err := area.Load(ctx, tx, u.board)
			if err != nil {
				return err
			}
			u.setArea(name, state)
		}
		turn.units[i] = u
	}

	for _, p := range batch {
		if err := w.decide(turn, p); err != nil {
			return err
		}
	}
	for _, u := range turn.units {
		// The areas' states are those of the board that went, which a batch-mate may have
		// made anew; or they were made from content that goes.
		if len(batch) > 1 && len(u.areas) > 0 && (u.board.Deleted() || u.board.Erasing()) {
			return errAlone
		}
	}

	changes := board.Changes{Boards: d.change[:0], Blobs: turn.blobs, CollectBlobs: turn.collect}
	var erased map[*unit]bool
	for _, u := range turn.units {
		if c, ok := u.board.Take(); ok {
			changes.Boards = append(changes.Boards, c)
			if len(c.Erase) > 0 {
				if erased == nil {
					erased = map[*unit]bool{}
				}
				erased[u] = true
			}
		}
	}
	if len(changes.Boards)+len(changes.Blobs) > 0 || !changes.CollectBlobs.IsZero() {
		if err := tx.Apply(ctx, changes); err != nil {
			return err
		}
		for _, u := range turn.units {
			for name, state := range u.areas {
				if err := w.areas[name].Apply(ctx, tx, u.ref, state); err != nil {
					return err
				}
			}
		}
		committing = true
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		committing = false
	}
	for _, u := range turn.units {
		if erased[u] {
			// What an area held was made from content that is gone.
			u.areas = nil
		}
		if u.board.Found() {
			w.cache.put(u)
		}
	}
	return nil
}

// decide gives one call its turn. Its error is a defect: the batch is void.
func (w *Writer) decide(turn *Turn, p *pending) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &defect{value: v, stack: debug.Stack()}
		}
	}()
	if len(p.wants) == 0 {
		p.answer, p.err = p.call.Decide(turn)
		return defectOf(p.err)
	}
	ref := p.wants[0].Ref
	st := turn.Board(ref)
	closed, runs := st.Closed(), st.Row().Runs
	p.answer, p.err = p.call.Decide(turn)
	if err := defectOf(p.err); err != nil {
		return err
	}
	due, _ := st.Due(turn.Now)
	p.receipt = Receipt{Ref: ref, Head: st.Head(), Due: due, NextDue: st.Row().Due, Opened: st.Row().Runs > runs}
	if st.Closed() > closed {
		p.receipt.Closed = st.Outcome()
	}
	return nil
}

// defectOf is err unless it is a refusal, which is an answer.
func defectOf(err error) error {
	if err == nil {
		return nil
	}
	var r *refusal.Refusal
	if errors.As(err, &r) {
		return nil
	}
	return err
}

// wants merges what the calls of a batch want, one want a board, in order of the
// boards' names, and puts the states that are held of them into the turn.
func (w *Writer) wants(batch []*pending, turn *Turn) []board.Want {
	var wants []board.Want
	if len(batch) == 1 && len(batch[0].wants) == 1 {
		wants = batch[0].wants
		turn.units = turn.one[:]
	} else {
		wants = merge(batch)
		turn.units = make([]*unit, len(wants))
	}
	for i := range wants {
		wants[i].Have = 0
		if u := w.cache.take(wants[i].Ref); u != nil {
			turn.units[i] = u
			wants[i].Have = u.board.Row().Rev
		}
	}
	return wants
}

// merge makes one want a board of what several calls want, in order of the boards'
// names.
func merge(batch []*pending) []board.Want {
	byRef := map[id.Ref]int{}
	var wants []board.Want
	for _, p := range batch {
		for _, want := range p.wants {
			i, ok := byRef[want.Ref]
			if !ok {
				byRef[want.Ref] = len(wants)
				// What is appended must not be written into the call's own.
				want.Keys, want.Entries = slices.Clip(want.Keys), slices.Clip(want.Entries)
				want.Blobs, want.Areas = slices.Clip(want.Blobs), slices.Clip(want.Areas)
				wants = append(wants, want)
				continue
			}
			m := &wants[i]
			m.Shared = m.Shared && want.Shared
			m.Keys = append(m.Keys, want.Keys...)
			m.Entries = append(m.Entries, want.Entries...)
			m.Blobs = append(m.Blobs, want.Blobs...)
			for _, area := range want.Areas {
				if !slices.Contains(m.Areas, area) {
					m.Areas = append(m.Areas, area)
				}
			}
		}
	}
	slices.SortFunc(wants, func(a, b board.Want) int { return byName(a.Ref, b.Ref) })
	return wants
}

// salt returns 16 fresh random bytes.
func salt() []byte {
	b := make([]byte, 16)
	rand.Read(b)
	return b
}
