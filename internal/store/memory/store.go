package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/gate"
)

// Options configures a store. The zero value is a store with the system's clock.
type Options struct {
	// Now is the store's clock.
	Now func() time.Time
}

// Store implements store.Store. Create it with New.
type Store struct {
	now  func() time.Time
	info board.Info
	gate gate.Gate

	slotsMu sync.Mutex
	slots   map[id.Ref]*slot

	// data guards what is committed: the records in the slots and all below.
	data  sync.RWMutex
	names map[id.Tenant][]*record // by board name
	due   []due                   // by instant, tenant and name
	blobs map[blobKey]*blob
}

// due says that a board has something to do at an instant.
type due struct {
	at  time.Time
	ref id.Ref
}

func byDue(a, b due) int {
	return cmp.Or(a.at.Compare(b.at),
		strings.Compare(string(a.ref.Tenant), string(b.ref.Tenant)),
		strings.Compare(string(a.ref.Board), string(b.ref.Board)))
}

// blobKey names a content-addressed value and whose it is.
type blobKey struct {
	tenant id.Tenant
	digest id.Digest
}

// blob is a value and what keeps it.
type blob struct {
	content []byte
	put     time.Time
	// refs counts the entries and machine runs that refer to the value, and the
	// transactions that asked for it and may be about to.
	refs int
}

var _ store.Store = (*Store)(nil)

// New returns an empty store with an identity of its own and epoch 1.
func New(opts Options) *Store {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Store{
		now: opts.Now,
		info: board.Info{
			Identity: id.New(),
			Epoch:    1,
			Durable:  "nothing: the boards are in this process's memory",
		},
		slots: map[id.Ref]*slot{},
		names: map[id.Tenant][]*record{},
		blobs: map[blobKey]*blob{},
	}
}

// Close refuses later calls and waits for the transactions under way.
func (s *Store) Close() error {
	s.gate.Close()
	return nil
}

// SetEpoch begins a later epoch.
func (s *Store) SetEpoch(_ context.Context, epoch id.Epoch) error {
	s.data.Lock()
	defer s.data.Unlock()
	s.info.Epoch = max(s.info.Epoch, epoch)
	return nil
}

// Batching lets boards be written side by side: the store is in this process's
// memory, and a board has a lock of its own.
func (s *Store) Batching() board.Batching {
	return board.Batching{PerBoard: true, Calls: board.MaxCalls}
}

// Info tells which store this is.
func (s *Store) Info(ctx context.Context) (board.Info, error) {
	return s.info, ctx.Err()
}

// Look reads one board's facts.
func (s *Store) Look(ctx context.Context, want board.Want) (board.Facts, error) {
	if err := s.enter(ctx); err != nil {
		return board.Facts{}, err
	}
	defer s.gate.Leave()
	sl := s.slot(want.Ref)
	s.data.RLock()
	defer s.data.RUnlock()
	var f board.Facts
	s.facts(sl, &want, &f)
	return f, nil
}

// Entries reads part of a board's record. A board that does not exist has none.
func (s *Store) Entries(ctx context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	if err := s.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer s.gate.Leave()
	return s.entries(s.slot(ref), q)
}

func (s *Store) entries(sl *slot, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	if q.Limit <= 0 {
		return nil, 0, fmt.Errorf("memory: entries: the limit is %d, it must be positive", q.Limit)
	}
	s.data.RLock()
	defer s.data.RUnlock()
	if sl == nil || sl.data == nil {
		return nil, 0, nil
	}
	return sl.data.page(q), sl.data.row.Head, nil
}

// Boards lists boards.
func (s *Store) Boards(ctx context.Context, q board.BoardQuery) ([]board.Row, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.Leave()
	if q.Limit <= 0 {
		return nil, fmt.Errorf("memory: boards: the limit is %d, it must be positive", q.Limit)
	}
	var rows []board.Row
	if !q.DueBy.IsZero() {
		s.data.RLock()
		n := search(len(s.due), func(i int) bool { return s.due[i].at.After(q.DueBy) })
		var refs []due
		if first := max(q.Offset, 0); first < n {
			refs = slices.Clone(s.due[first:min(n, first+q.Limit)])
		}
		s.data.RUnlock()
		for _, d := range refs {
			sl := s.slot(d.ref)
			s.data.RLock()
			if sl != nil && sl.data != nil {
				rows = append(rows, cloneRow(sl.data.row))
			}
			s.data.RUnlock()
		}
		return rows, nil
	}
	s.data.RLock()
	defer s.data.RUnlock()
	all := s.names[q.Tenant]
	i, found := slices.BinarySearchFunc(all, q.After, byRecord)
	if found {
		i++
	}
	for ; i < len(all) && len(rows) < q.Limit; i++ {
		rows = append(rows, cloneRow(all[i].row))
	}
	return rows, nil
}

// Blob returns a content-addressed value, or nil.
func (s *Store) Blob(ctx context.Context, tenant id.Tenant, digest id.Digest) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.Leave()
	s.data.RLock()
	defer s.data.RUnlock()
	if b := s.blobs[blobKey{tenant, digest}]; b != nil {
		return bytes.Clone(b.content), nil
	}
	return nil, nil
}

func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.gate.Enter()
}

// slot returns the board's slot, or nil when nobody has one.
func (s *Store) slot(ref id.Ref) *slot {
	s.slotsMu.Lock()
	defer s.slotsMu.Unlock()
	return s.slots[ref]
}

// reserve returns the board's slot and keeps it there until unreserve.
func (s *Store) reserve(ref id.Ref) *slot {
	s.slotsMu.Lock()
	sl := s.slots[ref]
	if sl == nil {
		sl = &slot{ref: ref}
		s.slots[ref] = sl
	}
	sl.users++
	s.slotsMu.Unlock()
	return sl
}

// unreserve lets the slot go when nobody uses it and there is no such board.
func (s *Store) unreserve(sl *slot) {
	s.slotsMu.Lock()
	sl.users--
	if sl.users == 0 {
		s.data.RLock()
		if sl.data == nil {
			delete(s.slots, sl.ref)
		}
		s.data.RUnlock()
	}
	s.slotsMu.Unlock()
}

// facts fills f; the caller holds data for reading.
func (s *Store) facts(sl *slot, w *board.Want, f *board.Facts) {
	for _, d := range w.Blobs {
		if b := s.blobs[blobKey{w.Ref.Tenant, d}]; b != nil {
			if f.Blobs == nil {
				f.Blobs = make(map[id.Digest]int64, len(w.Blobs))
			}
			f.Blobs[d] = int64(len(b.content))
		}
	}
	if sl != nil && sl.data != nil {
		sl.data.facts(w, f)
	}
}
