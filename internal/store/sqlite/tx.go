package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"zombiezen.com/go/sqlite"
)

// tx is the one transaction that has the writer's connection. Every board is held
// exclusively, whatever the wants say.
type tx struct {
	s    *Store
	c    conn
	now  time.Time
	done bool
	// lost is why nothing of the transaction can be kept.
	lost error
	held map[id.Ref]*hold
	// erased says that the log has to be emptied after the commit.
	erased bool
}

// hold is one board of the transaction.
type hold struct {
	place
	shared bool
}

var errDone = errors.New("sqlite: the transaction has ended")

// Begin waits for the writer's connection and for other processes, at most until
// the context ends. From then on the transaction ignores its contexts: it is short
// and is never stopped half-way.
func (s *Store) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := s.gate.Enter(); err != nil {
		return nil, nil, err
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		s.gate.Leave()
		return nil, nil, ctx.Err()
	}
	t := &tx{s: s, c: s.writer, held: make(map[id.Ref]*hold, len(wants))}
	if err := s.immediate(ctx, t.c); err != nil {
		t.leave()
		return nil, nil, err
	}
	t.now = micro(s.now())
	facts := make([]board.Facts, len(wants))
	for i := range wants {
		w := &wants[i]
		h := t.held[w.Ref]
		if h == nil {
			p, err := t.c.place(w.Ref)
			if err != nil {
				return nil, nil, t.abandon("begin", err)
			}
			h = &hold{place: p, shared: true}
			t.held[w.Ref] = h
		}
		h.shared = h.shared && w.Shared
		var err error
		if facts[i], err = t.c.facts(&h.place, w); err != nil {
			return nil, nil, t.abandon("begin", err)
		}
	}
	return t, facts, nil
}

// immediate begins a transaction that may write.
func (s *Store) immediate(ctx context.Context, c conn) error {
	return insist(ctx, s.patience, func() error {
		return s.translate("begin", c.exec(`BEGIN IMMEDIATE`))
	})
}

// insist calls f again while another process is in the way, until the context ends
// or the patience does.
func insist(ctx context.Context, patience time.Duration, f func() error) error {
	const shortest, longest = time.Millisecond, 20 * time.Millisecond
	var deadline time.Time
	for wait := shortest; ; wait = min(2*wait, longest) {
		err := f()
		if err == nil || refusal.CodeOf(err) != refusal.StoreBusy {
			return err
		}
		if now := time.Now(); deadline.IsZero() {
			deadline = now.Add(patience)
		} else if now.After(deadline) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// abandon ends a transaction that could not begin.
func (t *tx) abandon(doing string, err error) error {
	err = t.s.translate(doing, err)
	t.Rollback()
	return err
}

// leave gives the writer's connection back.
func (t *tx) leave() {
	t.done = true
	<-t.s.writing
	t.s.gate.Leave()
}

// failed translates an error, after which the transaction can only be ended: a
// change may be there by half, and after some errors SQLite has rolled back by
// itself, so that what follows would be committed alone.
func (t *tx) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	err = t.s.translate(doing, err)
	if t.lost == nil {
		t.lost = err
	}
	return err
}

// usable is an error when the transaction has ended, for whatever reason.
func (t *tx) usable() error {
	if t.done {
		return errDone
	}
	return t.lost
}

// holds returns the place of a board that the transaction holds.
func (t *tx) holds(ref id.Ref) (*place, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	h := t.held[ref]
	if h == nil {
		return nil, fmt.Errorf("sqlite: the transaction does not hold board %s", ref)
	}
	return &h.place, nil
}

// owns is holds for writing.
func (t *tx) owns(ref id.Ref) (*place, error) {
	p, err := t.holds(ref)
	if err == nil && t.held[ref].shared {
		return nil, fmt.Errorf("sqlite: the transaction shares board %s and may not write it", ref)
	}
	return p, err
}

// Now is the clock as of when the transaction began.
func (t *tx) Now() time.Time { return t.now }

// More reads further facts of boards that the transaction holds.
func (t *tx) More(_ context.Context, wants []board.Want) ([]board.Facts, error) {
	facts := make([]board.Facts, len(wants))
	for i := range wants {
		p, err := t.holds(wants[i].Ref)
		if err != nil {
			return nil, err
		}
		if facts[i], err = t.c.facts(p, &wants[i]); err != nil {
			return nil, t.failed("read a board", err)
		}
	}
	return facts, nil
}

// Entries reads part of the record of a board that the transaction holds.
func (t *tx) Entries(_ context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	p, err := t.holds(ref)
	if err != nil {
		return nil, 0, err
	}
	if err := checkLimit(q.Limit); err != nil || !p.found {
		return nil, 0, err
	}
	entries, err := t.c.page(p, q)
	return entries, p.row.Head, t.failed("read entries", err)
}

// Apply writes what was decided: blobs, then boards, then the collection.
func (t *tx) Apply(_ context.Context, changes board.Changes) error {
	if err := t.usable(); err != nil {
		return err
	}
	for i := range changes.Blobs {
		if err := t.failed("store a blob", t.c.putBlob(&changes.Blobs[i], t.now)); err != nil {
			return err
		}
	}
	for i := range changes.Boards {
		ch := &changes.Boards[i]
		p, err := t.owns(ch.Row.Ref)
		if err != nil {
			return t.failed("write a board", err)
		}
		if err := t.failed("write a board", t.c.write(p, ch)); err != nil {
			return err
		}
		t.erased = t.erased || len(ch.Erase) > 0 || ch.Delete
	}
	if !changes.CollectBlobs.IsZero() {
		return t.failed("collect blobs", t.c.collectBlobs(changes.CollectBlobs))
	}
	return nil
}

// Commit makes the transaction durable.
func (t *tx) Commit(context.Context) error {
	if t.done {
		return errDone
	}
	if t.lost == nil && t.c.AutocommitEnabled() {
		t.lost = errors.New("sqlite: commit: SQLite rolled the transaction back")
	}
	if t.lost != nil {
		t.Rollback()
		return t.lost
	}
	if err := t.c.exec(`COMMIT`); err != nil {
		err = t.commitFailed(err)
		t.Rollback()
		return err
	}
	if t.erased {
		t.s.scrubbing = true
	}
	if t.s.scrubbing {
		t.s.scrub()
	}
	t.leave()
	return nil
}

// commitFailed says what is known of a transaction whose COMMIT failed. When the
// disk failed, the log may have the commit although SQLite gave it up: a process
// that opens the file next may find it.
func (t *tx) commitFailed(err error) error {
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultIOErr {
		return refusal.New(refusal.CommitUnknown, t.s.path, "commit: the disk failed under the database %s", t.s.path).
			WithFix("read the board again to see whether the write is there").
			With("sqlite", sqlite.ErrCode(err).String())
	}
	return t.s.translate("commit", err)
}

// Rollback ends the transaction and keeps nothing.
func (t *tx) Rollback() error {
	if t.done {
		return nil
	}
	var err error
	if !t.c.AutocommitEnabled() {
		err = t.s.translate("roll back", t.c.exec(`ROLLBACK`))
	}
	t.leave()
	return err
}
