package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// strange are names that a careless store would trip over.
func strange() []string {
	return []string{
		"plain", "ünïcode 漢字 🙂", `quote ' double " back \ tick ` + "`", "percent % under_ star*", "a/b?c#d&e=f",
		"; DROP TABLE boards; --", "null", "0", "[]", strings.Repeat("n", id.MaxName), strings.Repeat("漢", id.MaxName/3),
	}
}

var boardTests = []test{
	{name: "an epoch is only ever followed by a later one", run: func(s *suite) {
		first, err := s.s.Info(s.ctx)
		s.ok(err)
		for _, epoch := range []id.Epoch{first.Epoch + 4, first.Epoch + 2} {
			s.ok(s.s.SetEpoch(s.ctx, epoch))
			now, err := s.s.Info(s.ctx)
			s.ok(err)
			s.same("epoch", now.Epoch, first.Epoch+4)
			s.same("identity", now.Identity, first.Identity)
		}
	}},
	{name: "the mark grows with what is written and never goes back", run: func(s *suite) {
		mark := func() int64 {
			info, err := s.s.Info(s.ctx)
			s.ok(err)
			return info.Mark
		}
		empty := mark()
		s.write(s.create(ref("a")), s.level(1))
		if !slices.Contains(s.f.Exceptions, Reopen) && mark() <= empty {
			s.Fatalf("an entry left it at %d", empty)
		}
		full := mark()
		s.change(board.Change{Row: board.Row{Ref: ref("a")}, Delete: true})
		if mark() < full {
			s.Fatalf("deleting a board took it from %d to %d", full, mark())
		}
	}},
	{name: "a row comes back as it was written", run: func(s *suite) {
		row := board.Row{Ref: ref("a"), Rev: 1, Head: 0, Created: s.instant(1), Latest: s.instant(2), Runs: 7, Due: s.instant(3),
			Run: &board.Run{Number: 7, OpenedAt: s.instant(4), Idle: 90*time.Second + 1, Activity: s.instant(5), WallAt: s.instant(6)}}
		s.change(board.Change{Row: row, Create: true})
		s.same("row", s.look(board.Want{Ref: ref("a")}).Row, row)
		row.Rev, row.Run, row.Due = 2, nil, time.Time{}
		s.change(board.Change{Row: row})
		s.same("row", s.look(board.Want{Ref: ref("a")}).Row, row)
		row.Rev, row.Runs, row.Run = 3, 8, &board.Run{Number: 8, OpenedAt: s.instant(7), Activity: s.instant(7)}
		s.change(board.Change{Row: row})
		s.same("row", s.look(board.Want{Ref: ref("a")}).Row, row)
	}},
	{name: "instants are kept in UTC and whole microseconds", run: func(s *suite) {
		zone := time.FixedZone("west", -7*3600)
		at := time.Date(2026, 5, 6, 7, 8, 9, 987654321, zone)
		want := time.Date(2026, 5, 6, 14, 8, 9, 987654000, time.UTC)
		e := s.level(1)
		e.At = at
		s.change(board.Change{Create: true,
			Row: board.Row{Ref: ref("a"), Rev: 1, Head: 1, Created: at, Latest: at, Runs: 1, Due: at,
				Run: &board.Run{Number: 1, OpenedAt: at, Activity: at, WallAt: at}},
			Regions:  []board.Region{{Region: wire.Region{Name: "notes", Kind: wire.Level}}},
			Agents:   []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x"}, Registered: at}},
			Outbox:   []board.Outbox{{Agent: "x", Due: at, Claim: "c", From: 1, To: 1, Lease: at}},
			Entries:  []board.Entry{e},
			Outcomes: []wire.Outcome{{Run: 1, Kind: wire.Settled, OpenedAt: at, ClosedAt: at}},
		})
		f := s.look(board.Want{Ref: ref("a"), Entries: []id.Seq{1}})
		for i, got := range []time.Time{f.Row.Created, f.Row.Latest, f.Row.Due, f.Row.Run.OpenedAt, f.Row.Run.Activity,
			f.Row.Run.WallAt, f.Agents[0].Registered, f.Outbox[0].Due, f.Outbox[0].Lease, f.Entries[1].At,
			f.Outcome.OpenedAt, f.Outcome.ClosedAt} {
			if !got.Equal(want) || got.Location() != time.UTC {
				s.Errorf("instant %d is %v", i, got)
			}
		}
	}},
	{name: "a board at the revision that the caller has is the same and gives no rows", run: func(s *suite) {
		e := s.level(1)
		e.Key = "k"
		s.write(s.create(ref("a")), e)
		f := s.look(board.Want{Ref: ref("a"), Have: 2, Keys: []string{"k", "other"}, Entries: []id.Seq{1}})
		if !f.Found || !f.Same || f.Regions != nil || f.Agents != nil || f.Outbox != nil || f.Row.Head != 1 ||
			len(f.Keys) != 1 || len(f.Entries) != 1 {
			s.Fatalf("%+v", f)
		}
		for _, have := range []int64{0, 1, 3} {
			if f := s.look(board.Want{Ref: ref("a"), Have: have}); f.Same || len(f.Regions) != 2 {
				s.Fatalf("have %d: %+v", have, f)
			}
		}
	}},
	{name: "regions are inserted or replaced and come by name", run: func(s *suite) {
		row := s.create(ref("a"))
		premise := board.Region{Region: wire.Region{Name: "status", Kind: wire.Premise, Window: 3 * time.Second, Owner: "machine",
			Last: 9, Version: 4, Count: 5}, LastWriter: "ann", Other: 8}
		added := board.Region{Region: wire.Region{Name: "added", Kind: wire.Level}}
		row.Rev++
		s.change(board.Change{Row: row, Regions: []board.Region{premise, added}})
		s.same("regions", s.look(board.Want{Ref: ref("a")}).Regions,
			[]board.Region{added, {Region: wire.Region{Name: "notes", Kind: wire.Level}}, premise})
	}},
	{name: "a board that exists is not created again, one that does not is not changed", run: func(s *suite) {
		row := s.create(ref("a"))
		if s.try(board.Changes{Boards: []board.Change{{Row: row, Create: true}}}) == nil {
			s.Error("created again")
		}
		for _, c := range []board.Change{{Row: board.Row{Ref: ref("b"), Rev: 2}}, {Row: board.Row{Ref: ref("b")}, Delete: true}} {
			if s.try(board.Changes{Boards: []board.Change{c}}) == nil {
				s.Error("changed")
			}
		}
	}},
	{name: "deleting a board removes everything it has and nothing else", run: func(s *suite) {
		s.blob("v")
		s.full(ref("a"))
		s.full(ref("b"))
		b := s.look(board.Want{Ref: ref("b")})
		s.change(board.Change{Row: board.Row{Ref: ref("a")}, Delete: true})
		s.same("deleted", s.look(board.Want{Ref: ref("a"), Keys: []string{"k"}, Entries: []id.Seq{1}}), board.Facts{})
		if entries, head := s.read(ref("a"), board.EntryQuery{}); len(entries) != 0 || head != 0 {
			s.Errorf("%v up to %d", entries, head)
		}
		s.same("machine", s.machine(ref("a")), store.MachineFacts{})
		s.same("listed", s.list(board.BoardQuery{Tenant: "acme"}), []string{"acme/b"})
		s.same("due", s.list(board.BoardQuery{DueBy: s.instant(1000)}), []string{"acme/b"})
		s.same("the other board", s.look(board.Want{Ref: ref("b")}), b)
		if !s.machine(ref("b")).Found {
			s.Error("the other board's machine is gone")
		}
		s.full(ref("a"))
		if f := s.look(board.Want{Ref: ref("a")}); f.Row.Rev != 1 || len(f.Agents) != 1 {
			s.Errorf("made anew: %+v", f)
		}
	}},
	{name: "deleted and created in one change a board is made anew", run: func(s *suite) {
		s.blob("v")
		s.full(ref("a"))
		row := board.Row{Ref: ref("a"), Rev: 2, Created: s.instant(50)}
		s.change(board.Change{Row: row, Delete: true, Create: true,
			Regions: []board.Region{{Region: wire.Region{Name: "only", Kind: wire.Level}}}})
		f := s.look(board.Want{Ref: ref("a"), Keys: []string{"k"}, Entries: []id.Seq{1}})
		s.same("row", f.Row, row)
		if len(f.Regions) != 1 || len(f.Agents)+len(f.Outbox)+len(f.Keys)+len(f.Entries) != 0 || f.Outcome != nil {
			s.Errorf("%+v", f)
		}
		s.same("listed", s.list(board.BoardQuery{Tenant: "acme"}), []string{"acme/a"})
		s.same("due", s.list(board.BoardQuery{DueBy: s.instant(1000)}), []string{})
	}},
	{name: "names are kept whatever they hold", run: func(s *suite) {
		for i, name := range strange() {
			r := id.Ref{Tenant: id.Tenant(name), Board: id.Board(name)}
			e := board.Entry{Entry: wire.Entry{Seq: 1, Region: name, Kind: wire.Level, Writer: name, Key: name, Content: []byte(`1`)}}
			agent := board.Agent{AgentDecl: wire.AgentDecl{Name: name, Address: name,
				WritesTo: wire.Only(name, "other"), SubscribesTo: wire.Only(name)}}
			box := board.Outbox{Agent: name, Claim: name, From: 1, To: 1, Regions: []string{name}, Lease: s.instant(9)}
			s.change(board.Change{Create: true, Row: board.Row{Ref: r, Rev: 1, Head: 1, Created: s.instant(i)},
				Regions: []board.Region{{Region: wire.Region{Name: name, Kind: wire.Level, Last: 1}, LastWriter: name}},
				Agents:  []board.Agent{agent}, Outbox: []board.Outbox{box}, Entries: []board.Entry{e}})
			f := s.look(board.Want{Ref: r, Keys: []string{name}})
			if !f.Found || f.Row.Ref != r || f.Regions[0].Name != name || f.Regions[0].LastWriter != name {
				s.Fatalf("%q: %+v", name, f)
			}
			s.same(name, f.Agents, []board.Agent{agent})
			s.same(name, f.Outbox, []board.Outbox{box})
			s.same(name, f.Keys[name], e)
			entries, _ := s.read(r, board.EntryQuery{Region: name})
			s.same(name, entries, []board.Entry{e})
			s.same(name, s.list(board.BoardQuery{Tenant: r.Tenant}), []string{r.String()})
		}
	}},
	{name: "names that differ in case or in their last space-like byte are different", run: func(s *suite) {
		for i, name := range []string{"a", "A", "a\u00a0", "á", "a\u0301"} {
			row := s.create(ref(name))
			row.Rev, row.Runs = 2, int64(i)
			s.change(board.Change{Row: row})
		}
		for i, name := range []string{"a", "A", "a\u00a0", "á", "a\u0301"} {
			if f := s.look(board.Want{Ref: ref(name)}); f.Row.Runs != int64(i) {
				s.Errorf("%q: %+v", name, f.Row)
			}
		}
	}},
	{name: "tenants do not see each other", run: func(s *suite) {
		other := id.Ref{Tenant: "other", Board: "a"}
		s.write(s.create(ref("a")), s.level(1))
		s.create(other)
		if f := s.look(board.Want{Ref: other, Entries: []id.Seq{1}}); f.Row.Head != 0 || len(f.Entries) != 0 {
			s.Errorf("%+v", f)
		}
		s.same("listed", s.list(board.BoardQuery{Tenant: "other"}), []string{"other/a"})
	}},
	{name: "boards are listed by name after a name, up to the limit", run: func(s *suite) {
		want := []string{}
		for _, n := range []int{3, 1, 4, 0, 2} {
			s.create(ref(fmt.Sprint("b", n)))
		}
		for n := range 5 {
			want = append(want, fmt.Sprint("acme/b", n))
		}
		s.same("all", s.list(board.BoardQuery{Tenant: "acme"}), want)
		s.same("first", s.list(board.BoardQuery{Tenant: "acme", Limit: 2}), want[:2])
		s.same("after", s.list(board.BoardQuery{Tenant: "acme", After: "b1", Limit: 2}), want[2:4])
		s.same("between", s.list(board.BoardQuery{Tenant: "acme", After: "b1x"}), want[2:])
		s.same("end", s.list(board.BoardQuery{Tenant: "acme", After: "b4"}), []string{})
		s.same("nobody", s.list(board.BoardQuery{Tenant: "none"}), []string{})
		if _, err := s.s.Boards(s.ctx, board.BoardQuery{Tenant: "acme"}); err == nil {
			s.Error("a list without a limit")
		}
	}},
	{name: "due boards of every tenant are listed, the earliest first, from an offset", run: func(s *suite) {
		for i, seconds := range []int{30, 10, 0, 20} {
			row := board.Row{Ref: id.Ref{Tenant: id.Tenant(fmt.Sprint("t", i)), Board: "b"}, Rev: 1}
			if seconds > 0 {
				row.Due = s.instant(seconds)
			}
			s.change(board.Change{Row: row, Create: true})
		}
		s.same("none", s.list(board.BoardQuery{DueBy: s.instant(9)}), []string{})
		s.same("at", s.list(board.BoardQuery{DueBy: s.instant(10)}), []string{"t1/b"})
		s.same("all", s.list(board.BoardQuery{DueBy: s.instant(99)}), []string{"t1/b", "t3/b", "t0/b"})
		s.same("limit", s.list(board.BoardQuery{DueBy: s.instant(99), Limit: 2}), []string{"t1/b", "t3/b"})
		s.same("offset", s.list(board.BoardQuery{DueBy: s.instant(99), Offset: 1, Limit: 1}), []string{"t3/b"})
		s.same("past", s.list(board.BoardQuery{DueBy: s.instant(99), Offset: 5}), []string{})
		row := board.Row{Ref: id.Ref{Tenant: "t0", Board: "b"}, Rev: 2, Due: s.instant(5)}
		s.change(board.Change{Row: row})
		s.same("moved", s.list(board.BoardQuery{DueBy: s.instant(10)}), []string{"t0/b", "t1/b"})
		row.Rev, row.Due = 3, time.Time{}
		s.change(board.Change{Row: row})
		s.same("gone", s.list(board.BoardQuery{DueBy: s.instant(10)}), []string{"t1/b"})
	}},
	{name: "caller and store share no memory", run: func(s *suite) {
		run := &board.Run{Number: 1, OpenedAt: s.instant(1), Activity: s.instant(1)}
		agents := []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x", WritesTo: wire.Only("notes")}}}
		box := []board.Outbox{{Agent: "x", Claim: "c", From: 1, To: 1, Lease: s.instant(2), Regions: []string{"notes"}}}
		entry := []board.Entry{s.level(1)}
		outcomes := []wire.Outcome{{Run: 1, Kind: wire.Settled, Unfinished: []string{"x"}}}
		regions := []board.Region{{Region: wire.Region{Name: "notes", Kind: wire.Level}}}
		tx, _ := s.begin(ref("a"))
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Create: true, Regions: regions, Agents: agents, Outbox: box,
			Entries: entry, Outcomes: outcomes, Row: board.Row{Ref: ref("a"), Rev: 1, Head: 1, Runs: 1, Run: run}}}}))
		scribble := func(run *board.Run, agents []board.Agent, box []board.Outbox, o *wire.Outcome, regions []board.Region) {
			run.Number = 99
			agents[0].WritesTo.Names[0], agents[0].Address = "scribble", "scribble"
			box[0].Regions[0], box[0].Claim = "scribble", "scribble"
			o.Unfinished[0] = "scribble"
			regions[0].Owner = "scribble"
		}
		scribble(run, agents, box, &outcomes[0], regions)
		entry[0].Writer = "scribble"
		s.ok(tx.Commit(s.ctx))
		want := s.look(board.Want{Ref: ref("a"), Entries: []id.Seq{1}})
		f := s.look(board.Want{Ref: ref("a"), Entries: []id.Seq{1}})
		if strings.Contains(fmt.Sprintf("%+v %+v", f, *f.Row.Run), "scribble") || f.Row.Run.Number != 1 {
			s.Fatalf("the caller wrote into the store: %+v", f)
		}
		scribble(f.Row.Run, f.Agents, f.Outbox, f.Outcome, f.Regions)
		s.same("read again", s.look(board.Want{Ref: ref("a"), Entries: []id.Seq{1}}), want)
	}},
}

// full makes a board that has something of everything.
func (s *suite) full(r id.Ref) {
	s.Helper()
	e := s.level(1)
	e.Key, e.Blobs = "k", []id.Digest{digest("v")}
	tx, _ := s.begin(r)
	defer tx.Rollback()
	s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Create: true,
		Row: board.Row{Ref: r, Rev: 1, Head: 2, Runs: 2, Created: s.instant(1), Due: s.instant(9),
			Run: &board.Run{Number: 2, OpenedAt: s.instant(1), Activity: s.instant(1)}},
		Regions:  []board.Region{{Region: wire.Region{Name: "notes", Kind: wire.Level}}},
		Agents:   []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x"}}},
		Outbox:   []board.Outbox{{Agent: "x", Due: s.instant(9)}},
		Entries:  []board.Entry{e, s.level(2)},
		Erase:    []board.Tombstone{{Seq: 2, Erasure: wire.Erasure{At: s.instant(3), By: "ann"}}},
		Outcomes: []wire.Outcome{{Run: 1, Kind: wire.Settled}},
	}}}))
	s.ok(tx.(store.MachineTx).ApplyMachine(s.ctx, []store.MachineChange{{Ref: r, Digest: digest("v"),
		Checkpoint: &store.Checkpoint{Seq: 1, Body: []byte("{}")},
		Summons:    []machine.Summons{{Agent: "x", Entry: 1, Attempt: 1, Status: machine.Pending}}}}))
	s.ok(tx.Commit(s.ctx))
}

func (s *suite) list(q board.BoardQuery) []string {
	s.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	rows, err := s.s.Boards(s.ctx, q)
	s.ok(err)
	return names(rows)
}
