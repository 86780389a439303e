package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
)

// hold is one lock a transaction has.
type hold struct {
	slot   *slot
	shared bool
}

// tx implements board.Tx and store.MachineTx.
type tx struct {
	s    *Store
	now  time.Time
	done bool
	lost error  // why nothing of the transaction can be kept
	held []hold // by ref
	pins []*blob

	boards   []board.Change
	machines []store.MachineChange
	blobs    []board.TenantBlob
	collect  time.Time

	// Most transactions hold one board and change it once.
	oneHold [1]hold
	stage   *stage
}

// stage is where a transaction with one change keeps it until it ends.
type stage struct {
	change [1]board.Change
	region [1]board.Region
	entry  [1]board.Entry
}

var stages = sync.Pool{New: func() any { return new(stage) }}

var (
	_ board.Tx        = (*tx)(nil)
	_ store.MachineTx = (*tx)(nil)
)

var errDone = errors.New("memory: the transaction has ended")

// Begin locks the wanted boards and reads their facts. It gives up waiting when the
// context ends; from then on the transaction ignores its contexts.
func (s *Store) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	if err := s.enter(ctx); err != nil {
		return nil, nil, err
	}
	t := &tx{s: s}
	t.held = t.oneHold[:0]
	if err := t.lock(ctx, wants); err != nil {
		t.end()
		return nil, nil, err
	}
	t.now = micro(s.now())
	facts, err := t.read(wants)
	if err != nil {
		t.end()
		return nil, nil, err
	}
	return t, facts, nil
}

// lock takes the locks in the order of the boards' names; a board wanted twice is
// locked once, exclusively if one of the wants asks for that.
func (t *tx) lock(ctx context.Context, wants []board.Want) error {
	if len(wants) == 1 {
		return t.lockOne(ctx, wants[0].Ref, wants[0].Shared)
	}
	order := make([]*board.Want, len(wants))
	for i := range wants {
		order[i] = &wants[i]
	}
	slices.SortFunc(order, func(a, b *board.Want) int { return compareRefs(a.Ref, b.Ref) })
	for i := 0; i < len(order); {
		shared, j := true, i
		for ; j < len(order) && order[j].Ref == order[i].Ref; j++ {
			shared = shared && order[j].Shared
		}
		if err := t.lockOne(ctx, order[i].Ref, shared); err != nil {
			return err
		}
		i = j
	}
	return nil
}

func (t *tx) lockOne(ctx context.Context, ref id.Ref, shared bool) error {
	sl := t.s.reserve(ref)
	if err := sl.acquire(ctx, shared); err != nil {
		t.s.unreserve(sl)
		return err
	}
	t.held = append(t.held, hold{sl, shared})
	return nil
}

func compareRefs(a, b id.Ref) int {
	if c := strings.Compare(string(a.Tenant), string(b.Tenant)); c != 0 {
		return c
	}
	return strings.Compare(string(a.Board), string(b.Board))
}

// holds returns the transaction's lock on a board, or nil.
func (t *tx) holds(ref id.Ref) *hold {
	if len(t.held) == 1 {
		if t.held[0].slot.ref == ref {
			return &t.held[0]
		}
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.held, ref, func(h hold, ref id.Ref) int { return compareRefs(h.slot.ref, ref) })
	if !ok {
		return nil
	}
	return &t.held[i]
}

// owns is an error when the transaction may not write the board.
func (t *tx) owns(ref id.Ref) error {
	switch h := t.holds(ref); {
	case h == nil:
		return fmt.Errorf("memory: the transaction does not hold board %s", ref)
	case h.shared:
		return fmt.Errorf("memory: the transaction shares board %s and may not write it", ref)
	}
	return nil
}

func (t *tx) read(wants []board.Want) ([]board.Facts, error) {
	facts := make([]board.Facts, len(wants))
	t.s.data.RLock()
	for i := range wants {
		h := t.holds(wants[i].Ref)
		if h == nil {
			t.s.data.RUnlock()
			return nil, fmt.Errorf("memory: the transaction does not hold board %s", wants[i].Ref)
		}
		t.s.facts(h.slot, &wants[i], &facts[i])
	}
	t.s.data.RUnlock()
	t.pin(wants, facts)
	return facts, nil
}

// pin keeps the blobs that the transaction was told of, which it may be about to
// refer to.
func (t *tx) pin(wants []board.Want, facts []board.Facts) {
	for i := range facts {
		if len(facts[i].Blobs) == 0 {
			continue
		}
		t.s.data.Lock()
		for d := range facts[i].Blobs {
			b := t.s.blobs[blobKey{wants[i].Ref.Tenant, d}]
			if b == nil { // dropped in between: say so
				delete(facts[i].Blobs, d)
				continue
			}
			b.refs++
			t.pins = append(t.pins, b)
		}
		t.s.data.Unlock()
	}
}

// Now is the clock as of when the locks were taken.
func (t *tx) Now() time.Time { return t.now }

// More reads further facts of boards that the transaction holds, as committed.
func (t *tx) More(_ context.Context, wants []board.Want) ([]board.Facts, error) {
	if t.done {
		return nil, errDone
	}
	return t.read(wants)
}

// Entries reads part of the record of a board that the transaction holds.
func (t *tx) Entries(_ context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	if t.done {
		return nil, 0, errDone
	}
	h := t.holds(ref)
	if h == nil {
		return nil, 0, fmt.Errorf("memory: the transaction does not hold board %s", ref)
	}
	return t.s.entries(h.slot, q)
}

// Apply stages what was decided; Commit checks it and makes it visible.
func (t *tx) Apply(_ context.Context, changes board.Changes) error {
	if t.done {
		return errDone
	}
	var regions []board.Region
	var entries []board.Entry
	if t.boards == nil && len(changes.Boards) == 1 {
		t.stage = stages.Get().(*stage)
		t.boards, regions, entries = t.stage.change[:0], t.stage.region[:], t.stage.entry[:]
	}
	for i := range changes.Boards {
		c := &changes.Boards[i]
		if err := t.owns(c.Row.Ref); err != nil {
			t.lost = err
			return err
		}
		t.boards = append(t.boards, cloneChange(c, regions, entries))
	}
	t.blobs = append(t.blobs, changes.Blobs...)
	if changes.CollectBlobs.After(t.collect) {
		t.collect = changes.CollectBlobs
	}
	return nil
}

// LoadMachine reads the machine rows of a board.
func (t *tx) LoadMachine(_ context.Context, ref id.Ref) (store.MachineFacts, error) {
	if t.done {
		return store.MachineFacts{}, errDone
	}
	h := t.holds(ref)
	if h == nil {
		return store.MachineFacts{}, fmt.Errorf("memory: the transaction does not hold board %s", ref)
	}
	t.s.data.RLock()
	defer t.s.data.RUnlock()
	if h.slot.data == nil || h.slot.data.machine == nil {
		return store.MachineFacts{}, nil
	}
	m := *h.slot.data.machine
	m.Source = t.s.blobs[blobKey{ref.Tenant, m.Digest}].content
	m.Checkpoint = cloneCheckpoint(m.Checkpoint)
	m.Summons = slices.Clone(m.Summons)
	return m, nil
}

// ApplyMachine stages machine rows; they are written after the boards.
func (t *tx) ApplyMachine(_ context.Context, changes []store.MachineChange) error {
	if t.done {
		return errDone
	}
	for _, c := range changes {
		if err := t.owns(c.Ref); err != nil {
			t.lost = err
			return err
		}
		c.Checkpoint = cloneCheckpoint(c.Checkpoint)
		c.Summons = slices.Clone(c.Summons)
		for i := range c.Summons {
			m := &c.Summons[i]
			m.Due, m.LeaseUntil, m.SentAt = micro(m.Due), micro(m.LeaseUntil), micro(m.SentAt)
		}
		c.DropSummons = slices.Clone(c.DropSummons)
		t.machines = append(t.machines, c)
	}
	return nil
}

// Commit makes what was applied visible, all of it or, with an error, nothing.
func (t *tx) Commit(_ context.Context) error {
	if t.done {
		return errDone
	}
	err := t.lost
	if err == nil {
		t.s.data.Lock()
		if err = t.check(); err == nil {
			t.keep()
		}
		t.s.data.Unlock()
	}
	t.end()
	return err
}

// Rollback releases the locks and keeps nothing.
func (t *tx) Rollback() error {
	if !t.done {
		t.end()
	}
	return nil
}

func (t *tx) end() {
	t.done = true
	if len(t.pins) > 0 {
		t.s.data.Lock()
		for _, b := range t.pins {
			b.refs--
		}
		t.s.data.Unlock()
	}
	for i := range t.held {
		h := &t.held[i]
		h.slot.release(h.shared)
		t.s.unreserve(h.slot)
	}
	t.boards, t.machines, t.blobs = nil, nil, nil
	if t.stage != nil {
		*t.stage = stage{}
		stages.Put(t.stage)
		t.stage = nil
	}
	t.s.gate.Leave()
}
