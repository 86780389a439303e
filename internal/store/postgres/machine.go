package postgres

import (
	"context"
	"fmt"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
)

var _ store.MachineTx = (*tx)(nil)

// machineRead is what a trip reads of a board's machine.
type machineRead struct {
	facts store.MachineFacts
	// have is the revision at which nothing was read.
	have int64
}

// askMachine adds the reading of the machine's rows to a board's, when the caller
// said that it will want them. A caller that holds the board's state holds the
// machine's with it; should it not, LoadMachine makes a trip of its own.
func (t *tx) askMachine(w *board.Want, h *hold) error {
	for _, area := range w.Areas {
		if area != store.MachineArea {
			continue
		}
		read := &machineRead{have: have(w)}
		h.machine = read
		t.c.bind().text(string(w.Ref.Tenant)).text(string(w.Ref.Board)).int(read.have)
		return t.c.add(readHeldMachine, func(r row) error { return readMachineFacts(r, &read.facts) })
	}
	return nil
}

// LoadMachine returns the machine rows of a board.
func (t *tx) LoadMachine(_ context.Context, ref id.Ref) (store.MachineFacts, error) {
	h, err := t.holds(ref)
	if err != nil || !h.found {
		return store.MachineFacts{}, err
	}
	if m := h.machine; m != nil && m.have != h.row.Rev {
		h.machine = nil
		return m.facts, nil
	}
	var f store.MachineFacts
	t.c.bind().text(string(ref.Tenant)).text(string(ref.Board))
	err = t.c.add(readMachine, func(r row) error { return readMachineFacts(r, &f) })
	if err == nil {
		err = t.c.send()
	}
	return f, t.failed("read a machine", err)
}

// ApplyMachine puts machine rows into the trip that commits. The board and the
// definition's blob must have been applied before.
func (t *tx) ApplyMachine(_ context.Context, changes []store.MachineChange) error {
	for i := range changes {
		ch := &changes[i]
		h, err := t.owns(ch.Ref)
		if err == nil && !h.found {
			err = fmt.Errorf("machine rows for board %s, which does not exist", ch.Ref)
		}
		if err == nil {
			h.machine = nil
			err = t.writeMachine(h, ch)
		}
		if err != nil {
			return t.failed("write a machine", err)
		}
	}
	return nil
}

func (t *tx) writeMachine(h *hold, ch *store.MachineChange) error {
	if ch.Digest != "" {
		for _, statement := range []*statement{leaveDefinition, writeMachine} {
			t.board(h).digest(ch.Digest)
			if err := t.c.add(statement, nil); err != nil {
				return err
			}
		}
	}
	if cp := ch.Checkpoint; cp != nil {
		t.board(h).int(int64(cp.Seq)).blob(cp.Body)
		if err := t.c.add(writeCheckpoint, nil); err != nil {
			return err
		}
	}
	if n := len(ch.DropSummons); n > 0 {
		t.board(h).texts(n, func(i int) string { return ch.DropSummons[i] })
		if err := t.c.add(dropSummons, nil); err != nil {
			return err
		}
	}
	for i := range ch.Summons {
		m := &ch.Summons[i]
		t.board(h).text(m.Agent).int(int64(m.Entry)).int(int64(m.Attempt)).int(m.Generation).text(string(m.Status)).
			at(m.Due).at(m.LeaseUntil).at(m.SentAt).optText(m.Holder).optText(m.Failure)
		if err := t.c.add(writeSummon, nil); err != nil {
			return err
		}
	}
	return nil
}
