package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/wire"
)

// Exception is something that a store cannot do and says so. The suite leaves out
// what needs it and logs that it did.
type Exception string

// The exceptions. The suite itself asks about the first two; the others name what
// the tests of a durable store do on their own.
const (
	// OneTransaction: only one transaction runs at a time, whatever it locks.
	OneTransaction Exception = "one transaction"
	// SharedLocks: a shared lock is taken as an exclusive one.
	SharedLocks Exception = "shared locks"

	Reopen      Exception = "reopen"
	SharedFile  Exception = "shared file"
	NewerSchema Exception = "newer schema"
	Kill        Exception = "kill"
)

// Factory makes the stores under test.
type Factory struct {
	// Open returns a new, empty store with that clock. The suite closes it.
	Open func(t testing.TB, now func() time.Time) store.Store
	// Exceptions names what the store cannot do.
	Exceptions []Exception
}

// suite is one subtest's store and helpers.
type suite struct {
	*testing.T
	f     Factory
	s     store.Store
	clock *Clock
	ctx   context.Context
}

// Clock is a clock that stands still until it is told.
type Clock struct {
	mu  sync.Mutex
	now time.Time
	// reads counts how often the clock was asked.
	reads int
}

// NewClock returns a clock at an instant that is not a whole number of
// microseconds and not in UTC.
func NewClock() *Clock {
	zone := time.FixedZone("east", 3*60*60)
	return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 123456789, zone)}
}

// Now is the clock's instant.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Reads is how often the clock was asked.
func (c *Clock) Reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}

// Run runs the suite against the stores that the factory makes.
func Run(t *testing.T, f Factory) {
	for _, e := range f.Exceptions {
		t.Logf("this store declares that it cannot do: %s", e)
	}
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"transactions", transactionTests},
		{"locks", lockTests},
		{"boards", boardTests},
		{"entries", entryTests},
		{"runs", runTests},
		{"blobs", blobTests},
		{"machine", machineTests},
		{"closing", closingTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) {
					for _, e := range f.Exceptions {
						if e == c.needsNot {
							t.Skipf("declared exception: %s", e)
						}
					}
					clock := NewClock()
					s := &suite{T: t, f: f, clock: clock, ctx: context.Background(), s: f.Open(t, clock.Now)}
					t.Cleanup(func() {
						if err := s.s.Close(); err != nil {
							t.Errorf("close: %v", err)
						}
					})
					c.run(s)
				})
			}
		})
	}
}

// test is one sentence of the contract.
type test struct {
	name string
	run  func(*suite)
	// needsNot is the exception under which the sentence does not apply.
	needsNot Exception
}

func ref(name string) id.Ref { return id.Ref{Tenant: "acme", Board: id.Board(name)} }

// ok fails the test on an error.
func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// begin begins a transaction on boards without a want for anything but the board.
func (s *suite) begin(refs ...id.Ref) (board.Tx, []board.Facts) {
	s.Helper()
	wants := make([]board.Want, len(refs))
	for i := range refs {
		wants[i].Ref = refs[i]
	}
	tx, facts, err := s.s.Begin(s.ctx, wants)
	s.ok(err)
	return tx, facts
}

// apply commits changes in a transaction of their own.
func (s *suite) apply(changes board.Changes) {
	s.Helper()
	s.ok(s.try(changes))
}

func (s *suite) try(changes board.Changes) error {
	s.Helper()
	var refs []id.Ref
	for _, c := range changes.Boards {
		refs = append(refs, c.Row.Ref)
	}
	tx, _ := s.begin(refs...)
	defer tx.Rollback()
	if err := tx.Apply(s.ctx, changes); err != nil {
		return err
	}
	return tx.Commit(s.ctx)
}

// change commits one board's change.
func (s *suite) change(c board.Change) {
	s.Helper()
	s.apply(board.Changes{Boards: []board.Change{c}})
}

// create makes a board with a level and a premise and returns its row.
func (s *suite) create(r id.Ref) board.Row {
	s.Helper()
	row := board.Row{Ref: r, Rev: 1, Created: s.instant(0), Latest: s.instant(0)}
	s.change(board.Change{Row: row, Create: true, Regions: []board.Region{
		{Region: wire.Region{Name: "notes", Kind: wire.Level}},
		{Region: wire.Region{Name: "status", Kind: wire.Premise}},
	}})
	return row
}

// instant is a whole microsecond in UTC, some seconds after a fixed one.
func (s *suite) instant(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 654321000, time.UTC)
}

// level is the n-th entry of a board.
func (s *suite) level(n id.Seq) board.Entry {
	return board.Entry{
		Entry: wire.Entry{Seq: n, Region: "notes", Kind: wire.Level, Writer: "ann", At: s.instant(int(n)),
			Content: []byte(fmt.Sprintf(`{"n":%d}`, n)), Digest: digest(fmt.Sprint("entry ", n))},
		Salt: []byte("sixteen bytes ok"),
	}
}

// write appends entries and returns the row after.
func (s *suite) write(row board.Row, entries ...board.Entry) board.Row {
	s.Helper()
	row = advance(row, entries...)
	s.change(board.Change{Row: row, Entries: entries})
	return row
}

// advance is the row as it stands after entries.
func advance(row board.Row, entries ...board.Entry) board.Row {
	row.Rev++
	for _, e := range entries {
		row.Head = e.Seq
	}
	return row
}

func (s *suite) look(w board.Want) board.Facts {
	s.Helper()
	f, err := s.s.Look(s.ctx, w)
	s.ok(err)
	return f
}

// read returns what Entries gives.
func (s *suite) read(r id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq) {
	s.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	entries, head, err := s.s.Entries(s.ctx, r, q)
	s.ok(err)
	return entries, head
}
