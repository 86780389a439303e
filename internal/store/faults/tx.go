package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// tx is a transaction with faults. It implements board.Tx, and the Tx of every area
// that has a file here.
type tx struct {
	s     *Store
	inner board.Tx
	refs  []id.Ref
	// lost is why the transaction ended without anybody asking for it, void why it can
	// no longer be committed.
	lost, void error
	done       bool
}

var _ board.Tx = (*tx)(nil)

// Begin is board.Store.Begin.
func (s *Store) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	refs := make([]id.Ref, len(wants))
	for i := range wants {
		refs[i] = wants[i].Ref
	}
	c, f, err := s.plan(Begin, refs)
	if err != nil {
		return nil, nil, err
	}
	if f.Kind == Retry {
		s.note(c, f, board.ErrRetry)
		return nil, nil, board.ErrRetry
	}
	t := &tx{s: s, refs: refs}
	facts, err := perform(s, c, f, t, func() ([]board.Facts, error) {
		inner, facts, err := s.inner.Begin(ctx, wants)
		if err != nil {
			return nil, err
		}
		t.inner = inner
		s.mu.Lock()
		dead := s.dead
		if !dead {
			s.begun[t] = true
		}
		s.mu.Unlock()
		if dead { // while it waited for its locks
			_ = inner.Rollback()
			return nil, ErrKilled
		}
		return facts, nil
	})
	s.note(c, f, err)
	if err != nil {
		t.lose(err)
		return nil, nil, err
	}
	return t, facts, nil
}

// lose ends the transaction in the database; what is called on it later fails.
func (t *tx) lose(err error) {
	if t.lost == nil {
		t.lost = err
	}
	t.s.mu.Lock()
	begun := t.s.begun[t]
	delete(t.s.begun, t)
	t.s.mu.Unlock()
	if begun {
		_ = t.inner.Rollback()
	}
}

// end takes the transaction out of those that are under way.
func (t *tx) end() {
	t.done = true
	t.s.mu.Lock()
	delete(t.s.begun, t)
	t.s.mu.Unlock()
}

// inside is a call in a transaction that does not end it.
func inside[T any](t *tx, op Op, run func() (T, error)) (T, error) {
	var zero T
	if t.done {
		return zero, fmt.Errorf("faults: %s: the transaction has ended", op)
	}
	if t.lost != nil {
		return zero, t.lost
	}
	c, f, err := t.s.plan(op, t.refs)
	if err != nil {
		return zero, err
	}
	v, err := perform(t.s, c, f, t, run)
	t.s.note(c, f, err)
	return v, err
}

// nothing is the result of a call that answers an error alone.
type nothing struct{}

// Now is the transaction's own.
func (t *tx) Now() time.Time { return t.inner.Now() }

// More is board.Tx.More.
func (t *tx) More(ctx context.Context, wants []board.Want) ([]board.Facts, error) {
	return inside(t, More, func() ([]board.Facts, error) { return t.inner.More(ctx, wants) })
}

// Entries is board.Tx.Entries.
func (t *tx) Entries(ctx context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	p, err := inside(t, Reread, func() (p page, err error) {
		p.entries, p.head, err = t.inner.Entries(ctx, ref, q)
		return p, err
	})
	return p.entries, p.head, err
}

// Apply is board.Tx.Apply.
func (t *tx) Apply(ctx context.Context, changes board.Changes) error {
	_, err := inside(t, Apply, func() (nothing, error) { return nothing{}, t.inner.Apply(ctx, changes) })
	return t.applied(err)
}

// applied remembers that part of the changes is missing, or may be.
func (t *tx) applied(err error) error {
	if t.void == nil {
		t.void = err
	}
	return err
}

// Commit is board.Tx.Commit.
func (t *tx) Commit(ctx context.Context) error {
	if t.done {
		return fmt.Errorf("faults: %s: the transaction has ended", Commit)
	}
	if t.lost == nil && t.void != nil {
		t.lose(t.void)
	}
	if t.lost != nil {
		return t.lost
	}
	c, f, err := t.s.plan(Commit, t.refs)
	if err != nil {
		return err
	}
	switch f.Kind {
	case Failed:
		t.lose(f.Err)
		err = f.Err
	case Lost:
		err = Unknown()
		t.lose(err)
	case Applied:
		if err = t.commit(ctx, c); err == nil {
			err = Unknown()
		}
	case Resolved:
		if err = t.commit(ctx, c); err == nil {
			err = t.lookUp(ctx)
		}
	default:
		_, err = perform(t.s, c, f, t, func() (nothing, error) { return nothing{}, t.kept(t.inner.Commit(ctx)) })
	}
	t.s.note(c, f, err)
	if err != nil {
		t.lose(err)
	}
	return err
}

func (t *tx) commit(ctx context.Context, c Call) error {
	err := t.kept(t.inner.Commit(ctx))
	t.s.done(c, t, err)
	return err
}

// kept counts a commit that took effect.
func (t *tx) kept(err error) error {
	t.end()
	if err == nil {
		t.s.mu.Lock()
		t.s.kept++
		t.s.mu.Unlock()
	}
	return err
}

// lookUp asks the database whether the boards of a commit can be read, as a driver
// does that has lost the answer. That the commit is there is known here; a driver
// has a row of its own to find it by.
func (t *tx) lookUp(ctx context.Context) error {
	for _, ref := range t.refs {
		if _, err := t.s.inner.Look(ctx, board.Want{Ref: ref}); err != nil {
			return Unknown()
		}
	}
	return nil
}

// Rollback is board.Tx.Rollback.
func (t *tx) Rollback() error {
	if t.done || t.lost != nil {
		return nil
	}
	c, f, err := t.s.plan(Rollback, t.refs)
	if err != nil {
		return nil // killed: it was rolled back
	}
	_, err = perform(t.s, c, f, t, func() (nothing, error) {
		t.end()
		return nothing{}, t.inner.Rollback()
	})
	t.s.note(c, f, err)
	return err
}
