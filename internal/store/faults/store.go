package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/refusal"
)

// Call is one call of a process to its store.
type Call struct {
	// N counts the calls of the process, from 1.
	N  int
	Op Op
	// Refs are the boards it is about.
	Refs []id.Ref
}

func (c Call) String() string {
	s := fmt.Sprintf("%d %s", c.N, c.Op)
	for _, r := range c.Refs {
		s += " " + r.String()
	}
	return s
}

// Fault is what happens to a call.
type Fault struct {
	Kind Kind
	// Err is the error that a Failed, Applied or RolledBack call is answered with; nil
	// means ErrInjected.
	Err error
	// Delay is how long a Slow call takes.
	Delay time.Duration
}

// Options says what goes wrong and who watches. The zero value is no faults.
type Options struct {
	// Plan decides what happens to a call. It may wait before it answers.
	Plan func(Call) Fault
	// Done is told of every call that was let through to the store, before its caller
	// gets the answer. It may wait too. tx is the transaction, if the call is of one.
	Done func(c Call, tx board.Tx, err error)
	// Slow lets time pass.
	Slow func(time.Duration)
}

// ErrInjected is the error of a call that was made to fail.
var ErrInjected = errors.New("faults: the call was made to fail")

// ErrKilled is the error of every call of a process that was killed.
var ErrKilled = errors.New("faults: the process is dead")

// Unknown is how a driver answers a commit of which it does not know what became.
func Unknown() error {
	return refusal.New(refusal.CommitUnknown, "", "commit: the answer was lost").
		WithFix("read the board again to see whether the write is there")
}

// Store is a process's store with faults. It implements store.Store.
type Store struct {
	inner store.Store
	opts  Options

	mu    sync.Mutex
	n     int
	kept  int
	dead  bool
	begun map[*tx]bool
	trace []string
}

var _ store.Store = (*Store)(nil)

// New wraps a store for one process.
func New(inner store.Store, opts Options) *Store {
	return &Store{inner: inner, opts: opts, begun: map[*tx]bool{}}
}

// Kill ends the process: its transactions are rolled back, its later calls and those
// that wait in a plan are answered ErrKilled.
func (s *Store) Kill() {
	s.mu.Lock()
	s.dead = true
	begun := s.begun
	s.begun = map[*tx]bool{}
	s.mu.Unlock()
	for t := range begun {
		_ = t.inner.Rollback()
	}
}

// Dead says whether the process was killed.
func (s *Store) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Kept is how many commits took effect, whatever they were answered.
func (s *Store) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

// Held are the boards of the transactions under way.
func (s *Store) Held() []id.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []id.Ref
	for t := range s.begun {
		out = append(out, t.refs...)
	}
	return out
}

// Under is how many transactions are under way.
func (s *Store) Under() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.begun)
}

// traced is how many lines of trace are held.
const traced = 200

// Trace is the latest calls, one a line, with what went wrong.
func (s *Store) Trace() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.trace...)
}

func (s *Store) note(c Call, f Fault, err error) {
	line := c.String()
	if f.Kind != None {
		line += ": " + string(f.Kind)
	}
	if err != nil {
		line += ": " + err.Error()
	}
	s.mu.Lock()
	if len(s.trace) >= traced {
		s.trace = s.trace[1:]
	}
	s.trace = append(s.trace, line)
	s.mu.Unlock()
}

// plan numbers a call and asks what happens to it.
func (s *Store) plan(op Op, refs []id.Ref) (Call, Fault, error) {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return Call{}, Fault{}, ErrKilled
	}
	s.n++
	c := Call{N: s.n, Op: op, Refs: refs}
	s.mu.Unlock()
	var f Fault
	if s.opts.Plan != nil {
		f = s.opts.Plan(c)
	}
	if s.Dead() { // killed while it waited
		return c, f, ErrKilled
	}
	if !f.Kind.Meets(op) {
		panic(fmt.Sprintf("faults: %s cannot be %s", op, f.Kind))
	}
	if f.Err == nil {
		f.Err = ErrInjected
	}
	return c, f, nil
}

func (s *Store) done(c Call, t *tx, err error) {
	if s.opts.Done == nil {
		return
	}
	if t == nil {
		s.opts.Done(c, nil, err)
	} else {
		s.opts.Done(c, t.inner, err)
	}
}

// read is a call outside of a transaction, which changes nothing.
func read[T any](s *Store, op Op, refs []id.Ref, run func() (T, error)) (T, error) {
	var zero T
	c, f, err := s.plan(op, refs)
	if err != nil {
		return zero, err
	}
	v, err := perform(s, c, f, nil, run)
	s.note(c, f, err)
	return v, err
}

// perform does to a call what the plan says. Commit, Begin and Rollback have more to
// say and do it themselves.
func perform[T any](s *Store, c Call, f Fault, t *tx, run func() (T, error)) (T, error) {
	var zero T
	switch f.Kind {
	case Failed:
		return zero, f.Err
	case Killed:
		s.Kill()
		return zero, ErrKilled
	case Retry, RolledBack:
		err := f.Err
		if f.Kind == Retry {
			err = board.ErrRetry
		}
		t.lose(err)
		return zero, err
	case Slow:
		if s.opts.Slow != nil {
			s.opts.Slow(f.Delay)
		}
	}
	v, err := run()
	s.done(c, t, err)
	switch {
	case f.Kind == KilledAfter:
		s.Kill()
		return zero, ErrKilled
	case s.Dead(): // while the call was at work
		return zero, ErrKilled
	case err == nil && f.Kind == Applied:
		return zero, f.Err
	}
	return v, err
}

// Batching is the store's own.
func (s *Store) Batching() board.Batching { return s.inner.Batching() }

// Info is the store's own.
func (s *Store) Info(ctx context.Context) (board.Info, error) { return s.inner.Info(ctx) }

// Close leaves the store open: the database outlives the process.
func (s *Store) Close() error { return nil }

// Look is board.Store.Look.
func (s *Store) Look(ctx context.Context, want board.Want) (board.Facts, error) {
	return read(s, Look, []id.Ref{want.Ref}, func() (board.Facts, error) { return s.inner.Look(ctx, want) })
}

// page is what Entries answers.
type page struct {
	entries []board.Entry
	head    id.Seq
}

// Entries is board.Store.Entries.
func (s *Store) Entries(ctx context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	p, err := read(s, Entries, []id.Ref{ref}, func() (p page, err error) {
		p.entries, p.head, err = s.inner.Entries(ctx, ref, q)
		return p, err
	})
	return p.entries, p.head, err
}

// Boards is board.Store.Boards.
func (s *Store) Boards(ctx context.Context, q board.BoardQuery) ([]board.Row, error) {
	return read(s, Boards, nil, func() ([]board.Row, error) { return s.inner.Boards(ctx, q) })
}

// SetEpoch is passed on: whoever opens a store calls it, before there is a process
// to have faults.
func (s *Store) SetEpoch(ctx context.Context, epoch id.Epoch) error {
	return s.inner.SetEpoch(ctx, epoch)
}

// Blob is board.Store.Blob.
func (s *Store) Blob(ctx context.Context, tenant id.Tenant, digest id.Digest) ([]byte, error) {
	return read(s, Blob, nil, func() ([]byte, error) { return s.inner.Blob(ctx, tenant, digest) })
}
