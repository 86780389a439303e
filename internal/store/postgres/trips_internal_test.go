package postgres

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// counted counts the round trips of a connection: how often something is read after
// something was sent.
type counted struct {
	net.Conn
	trips *atomic.Int64
	sent  atomic.Bool
}

func (c *counted) Write(b []byte) (int, error) {
	if c.sent.CompareAndSwap(false, true) {
		c.trips.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.sent.Store(false)
	return n, err
}

// openCounted opens a store whose round trips are counted.
func openCounted(t *testing.T, url string) (*Store, *atomic.Int64) {
	t.Helper()
	opts := Options{}
	config, where, err := parse(url, &opts)
	if err != nil {
		t.Fatal(err)
	}
	var trips atomic.Int64
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &counted{Conn: c, trips: &trips}, err
	}
	s, err := openPool(context.Background(), config, where, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, &trips
}

func TestRoundTrips(t *testing.T) {
	server := pgtest.Shared(t)
	s, trips := openCounted(t, server.URL(server.Schema(t)))
	ctx := context.Background()
	at := time.Now()
	spent := func(want int64, what string) {
		t.Helper()
		if n := trips.Swap(0); n != want {
			t.Errorf("%s: %d round trips instead of %d", what, n, want)
		}
	}
	rev := map[id.Ref]int64{}
	// batch begins with the wants, writes an entry to each board and commits.
	batch := func(wants ...board.Want) (facts []board.Facts) {
		t.Helper()
		tx, facts, err := s.Begin(ctx, wants)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var changes board.Changes
		for i, w := range wants {
			seq := facts[i].Row.Head + 1
			row := board.Row{Ref: w.Ref, Rev: facts[i].Row.Rev + 1, Head: seq, Created: at, Runs: 1,
				Run: &board.Run{Number: 1, OpenedAt: at, Activity: at}}
			rev[w.Ref] = row.Rev
			region := board.Region{Region: wire.Region{Name: "notes", Kind: wire.Level, Last: seq}, LastWriter: "ann"}
			change := board.Change{Row: row, Create: !facts[i].Found, Regions: []board.Region{region},
				Outbox:  []board.Outbox{{Agent: "x", Due: at}},
				Entries: []board.Entry{{Salt: []byte("salt"), Entry: wire.Entry{Seq: seq, Region: "notes", Kind: wire.Level, At: at, Content: []byte("1")}}}}
			if len(w.Keys) > 0 {
				change.Entries[0].Key = w.Keys[0]
			}
			changes.Boards = append(changes.Boards, change)
		}
		if err := tx.Apply(ctx, changes); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		return facts
	}
	a, b := id.Ref{Tenant: "acme", Board: "a"}, id.Ref{Tenant: "acme", Board: "b"}
	trips.Store(0)
	batch(board.Want{Ref: a})
	spent(3, "the first board of a tenant")
	batch(board.Want{Ref: b})
	spent(2, "a new board")
	batch(board.Want{Ref: a})
	spent(2, "a board whose state is read")
	batch(board.Want{Ref: a, Have: rev[a], Keys: []string{"k"}})
	spent(2, "a board whose state is held, with a key")
	batch(board.Want{Ref: b, Have: rev[b], Keys: []string{"l", "m"}, Entries: []id.Seq{1},
		Blobs: []id.Digest{"00000000000000000000000000000000000000000000000000000000000000aa"}},
		board.Want{Ref: a, Keys: []string{"n"}})
	spent(2, "two boards with everything looked up")
	if f := batch(board.Want{Ref: a, Have: rev[a] - 1}); f[0].Same || len(f[0].Regions) != 1 {
		t.Errorf("%+v", f[0])
	}
	spent(3, "a board that another process wrote")
	batch(board.Want{Ref: a, Have: rev[a] - 1})
	batch(board.Want{Ref: a, Have: rev[a], Areas: []string{store.MachineArea}})
	spent(4, "two more once that is known")

	s.wary.Store(0)
	tx, _, err := s.Begin(ctx, []board.Want{{Ref: a, Areas: []string{store.MachineArea}}})
	if err != nil {
		t.Fatal(err)
	}
	m := tx.(store.MachineTx)
	if _, err := m.LoadMachine(ctx, a); err != nil {
		t.Fatal(err)
	}
	spent(1, "a machine read with its board")
	if _, err := tx.More(ctx, []board.Want{{Ref: a, Entries: []id.Seq{1}}}); err != nil {
		t.Fatal(err)
	}
	spent(1, "more")
	if err := m.ApplyMachine(ctx, []store.MachineChange{{Ref: a, DropSummons: []string{"x"}, Summons: []machine.Summons{}}}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	spent(1, "a commit")

	if _, err := s.Info(ctx); err != nil {
		t.Fatal(err)
	}
	spent(2, "info after writes")
	for what, read := range map[string]func() error{
		"look": func() error {
			_, err := s.Look(ctx, board.Want{Ref: a, Keys: []string{"k"}, Entries: []id.Seq{1}})
			return err
		},
		"entries": func() error { _, _, err := s.Entries(ctx, a, board.EntryQuery{Limit: 9}); return err },
		"boards":  func() error { _, err := s.Boards(ctx, board.BoardQuery{Tenant: "acme", Limit: 9}); return err },
		"due":     func() error { _, err := s.Boards(ctx, board.BoardQuery{DueBy: at, Limit: 9}); return err },
		"info":    func() error { _, err := s.Info(ctx); return err },
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
		spent(1, what)
	}
}
