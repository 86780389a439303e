package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// tx is a transaction that has a connection to itself.
type tx struct {
	s    *Store
	c    *conn
	now  time.Time
	done bool
	held map[id.Ref]*hold
	// number is the transaction's own in the server that has that lifetime.
	number   int64
	lifetime string
	// batch tells this transaction's board rows from another's.
	batch int64
	// wrote are the boards whose rows it writes, to resolve a commit by.
	wrote []written
	// broken is the error that ended the transaction before its time.
	broken error
}

// hold is one board of the transaction.
type hold struct {
	found  bool
	tenant int32 // 0 for a tenant without any board
	number int64 // of the board, drawn for one that does not exist
	row    board.Row
	shared bool
	// machine is what was read with the board, nil when it was not.
	machine *machineRead
}

// Begin locks the wanted boards and reads their facts in one round trip. It gives up
// with the context; from then on the transaction ignores its contexts: it is short
// and is never stopped half-way. An error that is board.ErrRetry left nothing.
func (s *Store) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := s.gate.Enter(); err != nil {
		return nil, nil, err
	}
	for {
		t, facts, stale, err := s.begin(ctx, wants)
		if err == nil {
			return t, facts, nil
		}
		if !stale {
			s.gate.Leave()
			return nil, nil, err
		}
	}
}

// begin is one attempt; stale says that a connection died in the pool, which says
// nothing of the next one.
func (s *Store) begin(ctx context.Context, wants []board.Want) (_ *tx, _ []board.Facts, stale bool, _ error) {
	c, err := s.acquire(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	used := c.used
	t := &tx{s: s, c: c, lifetime: *s.lifetime.Load(), batch: rand.Int64(), held: make(map[id.Ref]*hold, len(wants))}
	facts, err := t.start(ctx, wants)
	if err == nil {
		if s.now != nil {
			t.now = micro(s.now())
		}
		return t, facts, false, nil
	}
	c.abandon()
	if ctx.Err() != nil {
		return nil, nil, false, context.Cause(ctx)
	}
	if used && isLost(err) != nil && retryable(err) {
		return nil, nil, true, err
	}
	return nil, nil, false, s.failed("begin", err)
}

// lock adds the locks, in an order that is the same for everybody: that of their
// keys. Two boards with the same key share a lock.
func (t *tx) lock(wants []board.Want) error {
	type want struct {
		key    int64
		shared bool
	}
	locks := make([]want, 0, len(wants))
	for i := range wants {
		w := &wants[i]
		h := t.held[w.Ref]
		if h == nil {
			h = &hold{shared: true}
			t.held[w.Ref] = h
		}
		h.shared = h.shared && w.Shared
		locks = append(locks, want{t.s.lockKey(w.Ref), w.Shared})
	}
	slices.SortFunc(locks, func(a, b want) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	for i := 0; i < len(locks); {
		l, j := locks[i], i
		for ; j < len(locks) && locks[j].key == l.key; j++ {
			l.shared = l.shared && locks[j].shared
		}
		i = j
		statement := lock
		if l.shared {
			statement = lockShared
		}
		t.c.bind().int(l.key)
		if err := t.c.add(statement, nil); err != nil {
			return err
		}
	}
	return nil
}

// lockKey is the number of a board's lock.
func (s *Store) lockKey(ref id.Ref) int64 {
	b := make([]byte, 0, 256)
	b = append(b, s.identity...)
	b = binary.AppendUvarint(b, uint64(len(s.home)))
	b = append(b, s.home...)
	b = binary.AppendUvarint(b, uint64(len(ref.Tenant)))
	b = append(b, ref.Tenant...)
	b = append(b, ref.Board...)
	sum := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

func (t *tx) notHeld(ref id.Ref) error {
	return fmt.Errorf("postgres: the transaction does not hold board %s", ref)
}

// Now is the server's clock as of when the locks were taken.
func (t *tx) Now() time.Time { return t.now }

// usable is an error when the transaction has ended, for whatever reason.
func (t *tx) usable() error {
	if t.done {
		return errEnded
	}
	return t.broken
}

// failed translates an error. The transaction can then only be ended.
func (t *tx) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	err = t.s.failed(doing, err)
	if t.broken == nil {
		t.broken = err
	}
	return err
}

// holds returns a board that the transaction holds.
func (t *tx) holds(ref id.Ref) (*hold, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	h := t.held[ref]
	if h == nil {
		return nil, t.notHeld(ref)
	}
	return h, nil
}

// owns is holds for writing.
func (t *tx) owns(ref id.Ref) (*hold, error) {
	h, err := t.holds(ref)
	if err == nil && h.shared {
		return nil, fmt.Errorf("postgres: the transaction shares board %s and may not write it", ref)
	}
	return h, err
}

// More reads further facts of boards that the transaction holds, in one round trip.
func (t *tx) More(_ context.Context, wants []board.Want) ([]board.Facts, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	for i := range wants {
		if _, err := t.holds(wants[i].Ref); err != nil {
			return nil, err
		}
	}
	facts := make([]board.Facts, len(wants))
	for i := range wants {
		err := t.askBoard(&wants[i], &facts[i])
		if err == nil {
			err = t.askMore(&wants[i], &facts[i])
		}
		if err != nil {
			return nil, t.failed("read a board", err)
		}
	}
	if err := t.c.send(); err != nil {
		return nil, t.failed("read a board", err)
	}
	return facts, nil
}

// Entries reads part of the record of a board that the transaction holds.
func (t *tx) Entries(_ context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	if _, err := t.holds(ref); err != nil {
		return nil, 0, err
	}
	if err := checkLimit(q.Limit); err != nil {
		return nil, 0, err
	}
	var p pageReader
	err := p.add(t.c, ref, q)
	if err == nil {
		err = t.c.send()
	}
	return p.entries, p.head, t.failed("read entries", err)
}

// Apply puts what was decided into the trip that commits.
func (t *tx) Apply(_ context.Context, changes board.Changes) error {
	if err := t.usable(); err != nil {
		return err
	}
	for i := range changes.Boards {
		if _, err := t.owns(changes.Boards[i].Row.Ref); err != nil {
			return t.failed("write a board", err)
		}
	}
	if err := t.putBlobs(changes.Blobs); err != nil {
		return t.failed("store a blob", err)
	}
	for i := range changes.Boards {
		ch := &changes.Boards[i]
		if err := t.write(t.held[ch.Row.Ref], ch); err != nil {
			return t.failed("write a board", err)
		}
	}
	if !changes.CollectBlobs.IsZero() {
		return t.failed("collect blobs", t.collectBlobs(changes.CollectBlobs))
	}
	return nil
}

// Commit sends everything applied with the COMMIT. When the answer is lost it finds
// out what became of it; only when that cannot be told is it COMMIT_UNKNOWN.
func (t *tx) Commit(context.Context) error {
	if t.done {
		return errEnded
	}
	if t.broken != nil {
		err := t.broken
		t.Rollback()
		return err
	}
	t.c.plain(commit, nil)
	err := t.c.send()
	if err == nil {
		t.end(t.c.release)
		return nil
	}
	if gone := isLost(err); gone != nil {
		t.c.release()
		err = t.resolve(gone)
		t.end(func() {})
		return err
	}
	err = t.failed("commit", err)
	t.Rollback()
	return err
}

// Rollback ends the transaction and keeps nothing.
func (t *tx) Rollback() error {
	if t.done {
		return nil
	}
	// Writes that were put into a trip and never sent go nowhere.
	if len(t.c.pending) > 0 || t.c.pg.IsClosed() {
		t.end(t.c.abandon)
		return nil
	}
	t.c.plain(rollback, nil)
	if err := t.c.send(); err != nil {
		// The server ends the transaction with the connection.
		t.end(t.c.abandon)
		return nil
	}
	t.end(t.c.release)
	return nil
}

// end gives the connection back and lets the store close.
func (t *tx) end(giveBack func()) {
	t.done = true
	giveBack()
	t.s.gate.Leave()
}

// micro is an instant as it is kept: UTC, whole microseconds.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }
