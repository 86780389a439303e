package storetest

import (
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

var machineTests = []test{
	{name: "a board without a machine has none", run: func(s *suite) {
		s.create(ref("a"))
		s.same("machine", s.machine(ref("a")), store.MachineFacts{})
		s.same("machine", s.machine(ref("none")), store.MachineFacts{})
	}},
	{name: "a run is pinned to a definition that is stored", run: func(s *suite) {
		s.create(ref("a"))
		if s.tryMachine(store.MachineChange{Ref: ref("a"), Digest: digest("v")}) == nil {
			s.Error("pinned to a definition that is not stored")
		}
		if s.tryMachine(store.MachineChange{Ref: ref("a"), Checkpoint: &store.Checkpoint{Seq: 1, Body: []byte("x")}}) == nil {
			s.Error("a checkpoint without a machine")
		}
		s.blob("v")
		s.applyMachine(store.MachineChange{Ref: ref("a"), Digest: digest("v")})
		s.same("machine", s.machine(ref("a")), store.MachineFacts{Found: true, Digest: digest("v"), Source: []byte("v")})
	}},
	{name: "a machine is made in the transaction that makes its board", run: func(s *suite) {
		tx, _ := s.begin(ref("a"))
		s.ok(tx.Apply(s.ctx, board.Changes{Blobs: []board.TenantBlob{tenantBlob("v")},
			Boards: []board.Change{{Row: board.Row{Ref: ref("a"), Rev: 1}, Create: true}}}))
		s.ok(tx.(store.MachineTx).ApplyMachine(s.ctx, []store.MachineChange{{Ref: ref("a"), Digest: digest("v")}}))
		s.ok(tx.Commit(s.ctx))
		if !s.machine(ref("a")).Found {
			s.Fatal("it is not there")
		}
	}},
	{name: "the newest checkpoint is the one with the highest position", run: func(s *suite) {
		s.withMachine()
		for _, seq := range []id.Seq{3, 9, 5} {
			s.applyMachine(store.MachineChange{Ref: ref("a"), Checkpoint: &store.Checkpoint{Seq: seq, Body: []byte{byte(seq)}}})
		}
		s.same("checkpoint", s.machine(ref("a")).Checkpoint, &store.Checkpoint{Seq: 9, Body: []byte{9}})
	}},
	{name: "a checkpoint made of what is erased goes with it", run: func(s *suite) {
		s.withMachine()
		row := s.write(s.look(board.Want{Ref: ref("a")}).Row, s.level(1), s.level(2))
		s.applyMachine(store.MachineChange{Ref: ref("a"), Checkpoint: &store.Checkpoint{Seq: 2, Body: []byte("told")}})
		row.Rev++
		s.change(board.Change{Row: row, Erase: []board.Tombstone{{Seq: 1, Erasure: wire.Erasure{At: s.instant(1), By: "x"}}}})
		s.same("checkpoint", s.machine(ref("a")).Checkpoint, (*store.Checkpoint)(nil))
	}},
	{name: "summonses are inserted, replaced and dropped by agent", run: func(s *suite) {
		s.withMachine()
		full := machine.Summons{Agent: "x", Entry: 2, Attempt: 3, Generation: 4, Status: machine.Sent, Due: s.instant(1),
			LeaseUntil: s.instant(2), SentAt: s.instant(3), Holder: "h", Failure: "f"}
		bare := machine.Summons{Agent: "b", Entry: 1, Attempt: 1, Status: machine.Pending}
		s.applyMachine(store.MachineChange{Ref: ref("a"), Summons: []machine.Summons{{Agent: "x", Status: machine.Settled}, bare}})
		s.applyMachine(store.MachineChange{Ref: ref("a"), Summons: []machine.Summons{full}})
		s.same("summons", s.machine(ref("a")).Summons, []machine.Summons{bare, full})
		s.applyMachine(store.MachineChange{Ref: ref("a"), DropSummons: []string{"b", "nobody"}})
		s.same("summons", s.machine(ref("a")).Summons, []machine.Summons{full})
	}},
	{name: "machine rows are kept with the transaction or not at all", run: func(s *suite) {
		s.withMachine()
		before := s.machine(ref("a"))
		tx, _ := s.begin(ref("a"))
		s.ok(tx.(store.MachineTx).ApplyMachine(s.ctx, []store.MachineChange{{Ref: ref("a"),
			Summons: []machine.Summons{{Agent: "x", Status: machine.Pending}}}}))
		s.ok(tx.Rollback())
		s.same("machine", s.machine(ref("a")), before)
	}},
	{name: "machine rows of a board that is not held are neither read nor written", run: func(s *suite) {
		s.withMachine()
		tx, _ := s.begin(ref("b"))
		defer tx.Rollback()
		if _, err := tx.(store.MachineTx).LoadMachine(s.ctx, ref("a")); err == nil {
			s.Error("read")
		}
		if tx.(store.MachineTx).ApplyMachine(s.ctx, []store.MachineChange{{Ref: ref("a"), Digest: digest("v")}}) == nil {
			s.Error("written")
		}
	}},
}

var closingTests = []test{
	{name: "closing waits for the transaction under way and refuses later calls", run: func(s *suite) {
		row := s.create(ref("a"))
		tx, _ := s.begin(ref("a"))
		closed := make(chan error)
		go func() { closed <- s.s.Close() }()
		s.ok(tx.Apply(s.ctx, board.Changes{Boards: []board.Change{{Row: advance(row)}}}))
		s.ok(tx.Commit(s.ctx))
		s.ok(<-closed)
		if _, _, err := s.s.Begin(s.ctx, nil); err == nil {
			s.Error("begin after close")
		}
		if _, err := s.s.Look(s.ctx, board.Want{Ref: ref("a")}); err == nil {
			s.Error("look after close")
		}
		s.ok(s.s.Close())
	}},
}

// withMachine makes board a with a machine.
func (s *suite) withMachine() {
	s.Helper()
	s.blob("v")
	s.create(ref("a"))
	s.applyMachine(store.MachineChange{Ref: ref("a"), Digest: digest("v")})
}

func (s *suite) applyMachine(c store.MachineChange) {
	s.Helper()
	s.ok(s.tryMachine(c))
}

func (s *suite) tryMachine(c store.MachineChange) error {
	s.Helper()
	tx, _ := s.begin(c.Ref)
	defer tx.Rollback()
	if err := tx.(store.MachineTx).ApplyMachine(s.ctx, []store.MachineChange{c}); err != nil {
		return err
	}
	return tx.Commit(s.ctx)
}

func (s *suite) machine(r id.Ref) store.MachineFacts {
	s.Helper()
	tx, _ := s.begin(r)
	defer tx.Rollback()
	f, err := tx.(store.MachineTx).LoadMachine(s.ctx, r)
	s.ok(err)
	return f
}
