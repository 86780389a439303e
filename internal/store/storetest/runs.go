package storetest

import (
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/wire"
)

var runTests = []test{
	{name: "agents are inserted or replaced and come by name", run: func(s *suite) {
		row := s.create(ref("a"))
		full := board.Agent{AgentDecl: wire.AgentDecl{Name: "x", Address: "http://x", WritesTo: wire.Only("notes", "more"),
			SubscribesTo: wire.Only()}, Told: 4, Cursor: 3, Registered: s.instant(1)}
		bare := board.Agent{AgentDecl: wire.AgentDecl{Name: "b"}}
		row.Rev++
		s.change(board.Change{Row: row, Agents: []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x"}}, bare}})
		row.Rev++
		s.change(board.Change{Row: row, Agents: []board.Agent{full}})
		s.same("agents", s.look(board.Want{Ref: ref("a")}).Agents, []board.Agent{bare, full})
	}},
	{name: "a set of names left unsaid is not the empty set", run: func(s *suite) {
		row := s.create(ref("a"))
		row.Rev++
		s.change(board.Change{Row: row, Agents: []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x", WritesTo: wire.Only()}}}})
		a := s.look(board.Want{Ref: ref("a")}).Agents[0]
		if !a.WritesTo.Set || len(a.WritesTo.Names) != 0 || a.SubscribesTo.Set {
			s.Fatalf("%+v", a)
		}
	}},
	{name: "outbox rows are inserted, replaced and dropped by agent", run: func(s *suite) {
		row := s.create(ref("a"))
		pending := board.Outbox{Agent: "x", Due: s.instant(1)}
		flight := board.Outbox{Agent: "y", Claim: "c1", From: 2, To: 5, Regions: []string{"notes", "status"}, Lease: s.instant(3), Tries: 2}
		row.Rev++
		s.change(board.Change{Row: row, Outbox: []board.Outbox{flight, pending}})
		s.same("outbox", s.look(board.Want{Ref: ref("a")}).Outbox, []board.Outbox{pending, flight})
		both := flight
		both.Agent, both.Due = "x", s.instant(8)
		row.Rev++
		s.change(board.Change{Row: row, Outbox: []board.Outbox{both}, DropOutbox: []string{"y", "nobody"}})
		s.same("outbox", s.look(board.Want{Ref: ref("a")}).Outbox, []board.Outbox{both})
	}},
	{name: "dropping the run removes agents and outbox, before new ones are written", run: func(s *suite) {
		row := s.write(s.create(ref("a")), s.level(1))
		row.Rev++
		s.change(board.Change{Row: row, Agents: []board.Agent{{AgentDecl: wire.AgentDecl{Name: "x"}}, {AgentDecl: wire.AgentDecl{Name: "y"}}},
			Outbox: []board.Outbox{{Agent: "x", Due: s.instant(1)}, {Agent: "y", Due: s.instant(1)}}})
		row.Rev++
		fresh := board.Agent{AgentDecl: wire.AgentDecl{Name: "x", Address: "new"}}
		box := board.Outbox{Agent: "x", Due: s.instant(7)}
		s.change(board.Change{Row: row, DropRun: true, Agents: []board.Agent{fresh}, Outbox: []board.Outbox{box}})
		f := s.look(board.Want{Ref: ref("a")})
		s.same("agents", f.Agents, []board.Agent{fresh})
		s.same("outbox", f.Outbox, []board.Outbox{box})
		if len(f.Regions) != 2 || f.Row.Head != 1 {
			s.Fatalf("the record went with the run: %+v", f)
		}
	}},
	{name: "the outcome is that of the latest run that closed", run: func(s *suite) {
		row := s.create(ref("a"))
		if s.look(board.Want{Ref: ref("a")}).Outcome != nil {
			s.Fatal("an outcome before any run closed")
		}
		first := wire.Outcome{Run: 1, Kind: wire.Aborted, Reason: "stopped", OpenedAt: s.instant(1), ClosedAt: s.instant(2), Seq: 3}
		second := wire.Outcome{Run: 2, Kind: wire.Settled, Complete: true, Unfinished: []string{"x", "y"},
			OpenedAt: s.instant(3), ClosedAt: s.instant(3).Add(time.Microsecond), Seq: 9}
		row.Rev++
		s.change(board.Change{Row: row, Outcomes: []wire.Outcome{first}})
		s.same("outcome", s.look(board.Want{Ref: ref("a")}).Outcome, &first)
		third := wire.Outcome{Run: 3, Kind: wire.WallClockExpired}
		row.Rev++
		s.change(board.Change{Row: row, Outcomes: []wire.Outcome{second, third}})
		s.same("outcome", s.look(board.Want{Ref: ref("a")}).Outcome, &third)
	}},
}
