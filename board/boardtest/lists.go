package boardtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

var lists = []sentence{
	{"a query selects entries by position and region, from either end", func(t *testing.T, r *rig) {
		r.create()
		for i := range 10 {
			r.level("a", []string{"facts", "ideas"}[i%2], `1`)
		}
		for _, c := range []struct {
			q    board.EntryQuery
			want string
		}{
			{board.EntryQuery{Limit: 100}, "[1 2 3 4 5 6 7 8 9 10]"},
			{board.EntryQuery{Limit: 3}, "[1 2 3]"},
			{board.EntryQuery{After: 8, Limit: 100}, "[9 10]"},
			{board.EntryQuery{After: 10, Limit: 100}, "[]"},
			{board.EntryQuery{After: 99, Limit: 100}, "[]"},
			{board.EntryQuery{After: 2, Through: 5, Limit: 100}, "[3 4 5]"},
			{board.EntryQuery{After: 2, Through: 99, Limit: 2}, "[3 4]"},
			{board.EntryQuery{After: 5, Through: 5, Limit: 100}, "[]"},
			{board.EntryQuery{After: 6, Through: 5, Limit: 100}, "[]"},
			{board.EntryQuery{Newest: true, Limit: 3}, "[10 9 8]"},
			{board.EntryQuery{Newest: true, Through: 4, Limit: 2}, "[4 3]"},
			{board.EntryQuery{Newest: true, After: 8, Limit: 100}, "[10 9]"},
			{board.EntryQuery{Region: "facts", Limit: 100}, "[1 3 5 7 9]"},
			{board.EntryQuery{Region: "ideas", After: 3, Through: 8, Limit: 100}, "[4 6 8]"},
			{board.EntryQuery{Region: "ideas", Newest: true, Through: 7, Limit: 2}, "[6 4]"},
			{board.EntryQuery{Region: "window", Limit: 100}, "[]"},
			{board.EntryQuery{Region: "nowhere", Limit: 100}, "[]"},
		} {
			rows, head, err := r.store.Entries(r.ctx, ref, c.q)
			r.ok(err)
			got := []id.Seq{}
			for _, e := range rows {
				got = append(got, e.Seq)
			}
			equal(t, fmt.Sprintf("%+v", c.q), fmt.Sprint(got), c.want)
			equal(t, "head", head, 10)
		}
		if _, _, err := r.store.Entries(r.ctx, ref, board.EntryQuery{}); err == nil {
			t.Fatal("a query without a limit is answered")
		}
	}},
	{"a board that does not exist has no entries and is not found", func(t *testing.T, r *rig) {
		rows, head, err := r.store.Entries(r.ctx, ref, board.EntryQuery{Limit: 1})
		r.ok(err)
		if len(rows) != 0 || head != 0 || r.facts().Found {
			t.Fatalf("%+v, head %d", rows, head)
		}
	}},
	{"due boards are listed earliest first across tenants, to the instant", func(t *testing.T, r *rig) {
		type made struct {
			ref id.Ref
			due time.Time
		}
		var want []made
		for i, d := range []time.Duration{3, 1, 2} {
			p := by("a")
			p.Tenant = id.Tenant(fmt.Sprint("tenant-", i))
			_, err := r.s.Create(r.ctx, p, defaults(wire.CreateBoard{Limits: wire.RunLimits{Idle: d * time.Minute}}), board.Callables{})
			r.ok(err)
			want = append(want, made{id.Ref{Tenant: p.Tenant, Board: name}, start.Add(d * time.Minute)})
		}
		r.create() // without a limit: never due
		want = []made{want[1], want[2], want[0]}
		for n, d := range []time.Duration{time.Minute - tick, time.Minute, 2 * time.Minute, time.Hour} {
			rows, err := r.store.Boards(r.ctx, board.BoardQuery{DueBy: start.Add(d), Limit: 10})
			r.ok(err)
			equal(t, fmt.Sprint("due by ", d), len(rows), n)
			for i, row := range rows {
				if row.Ref != want[i].ref || !row.Due.Equal(want[i].due) {
					t.Fatalf("%d: %s at %v, want %+v", i, row.Ref, row.Due, want[i])
				}
			}
		}
		rows, err := r.store.Boards(r.ctx, board.BoardQuery{DueBy: start.Add(time.Hour), Offset: 1, Limit: 1})
		r.ok(err)
		if len(rows) != 1 || rows[0].Ref != want[1].ref {
			t.Fatalf("%+v", rows)
		}
	}},
	{"a tenant without boards has an empty list", func(t *testing.T, r *rig) {
		rows, err := r.store.Boards(r.ctx, board.BoardQuery{Tenant: "nobody", Limit: 10})
		r.ok(err)
		equal(t, "boards", len(rows), 0)
	}},
	{"every row comes back as it was written", func(t *testing.T, r *rig) {
		c := board.Change{
			Row: board.Row{Ref: ref, Rev: 1 << 60, Head: 7, Created: start, Latest: start.Add(tick), Runs: 3, Due: start.Add(2 * tick),
				Run: &board.Run{Number: 3, OpenedAt: start, Idle: 12345 * time.Nanosecond, Activity: start.Add(tick), WallAt: start.Add(time.Hour)}},
			Create:   true,
			Regions:  []board.Region{{Region: wire.Region{Name: "r", Kind: wire.Level, Window: 7, Owner: "machine", Last: 7, Count: 1}, LastWriter: "w", Other: 3}},
			Agents:   []board.Agent{{AgentDecl: wire.AgentDecl{Name: "a", WritesTo: wire.Only(), SubscribesTo: wire.Only("r")}, Told: 7, Cursor: 5, Registered: start}},
			Outbox:   []board.Outbox{{Agent: "a", Due: start, Claim: "c", From: 6, To: 7, Regions: []string{"r"}, Lease: start.Add(time.Minute), Tries: 2}},
			Entries:  []board.Entry{{Entry: wire.Entry{Seq: 7, Region: "r", Kind: wire.Level}}},
			Outcomes: []wire.Outcome{{Run: 1, Kind: wire.Aborted, OpenedAt: start, ClosedAt: start}, {Run: 2, Kind: wire.Settled, Complete: true, Unfinished: []string{"x", "y"}, OpenedAt: start, ClosedAt: start.Add(tick), Seq: 4}},
		}
		tx, _ := r.begin(board.Want{Ref: ref})
		r.ok(tx.Apply(r.ctx, board.Changes{Boards: []board.Change{c}}))
		r.ok(tx.Commit(r.ctx))
		f := r.facts()
		same(t, "row", f.Row, c.Row)
		same(t, "region", f.Regions, c.Regions)
		same(t, "agent", f.Agents, c.Agents)
		same(t, "outbox", f.Outbox, c.Outbox)
		same(t, "outcome", *f.Outcome, c.Outcomes[1])
		rows, head, err := r.store.Entries(r.ctx, ref, board.EntryQuery{Limit: 2})
		r.ok(err)
		equal(t, "head", head, 7)
		// An entry from before writers, instants and digests were kept.
		same(t, "entry", rows, c.Entries)
	}},
}

// same compares two values by what a person reads of them, pointers followed.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := text(got), text(want); g != w {
		t.Fatalf("%s: %s\nwant %s", what, g, w)
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
