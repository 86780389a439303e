package postgres

import (
	"fmt"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// write puts one board's change into the trip and moves h to what it comes to.
func (t *tx) write(h *hold, ch *board.Change) error {
	if ch.Delete {
		if !h.found {
			return fmt.Errorf("board %s does not exist and cannot be deleted", ch.Row.Ref)
		}
		for _, statement := range deleteBoard {
			t.board(h)
			if err := t.c.add(statement, nil); err != nil {
				return err
			}
		}
		t.remember(h, ch)
		h.found, h.row = false, board.Row{}
		if !ch.Create {
			return nil
		}
	}
	single, err := t.writeRow(h, ch)
	if err != nil {
		return err
	}
	if !single {
		if err := t.writeRegions(h, ch.Regions); err != nil {
			return err
		}
	}
	if err := t.writeRun(h, ch); err != nil {
		return err
	}
	if !single {
		if err := t.writeEntries(h, ch.Entries); err != nil {
			return err
		}
	}
	if err := t.writeErasures(h, ch.Erase); err != nil {
		return err
	}
	for i := range ch.Outcomes {
		o := &ch.Outcomes[i]
		t.board(h).int(o.Run).text(string(o.Kind)).optText(o.Reason).bool(o.Complete).list(o.Unfinished).
			at(o.OpenedAt).at(o.ClosedAt).int(int64(o.Seq))
		if err := t.c.add(writeOutcome, nil); err != nil {
			return err
		}
	}
	return nil
}

// board begins the parameters of a statement about a board.
func (t *tx) board(h *hold) *args { return t.c.bind().int4(h.tenant).int(h.number) }

// row binds what every statement that writes a board's row sets.
func (a *args) row(batch int64, r *board.Row) *args {
	a.int(r.Rev).int(int64(r.Head)).int(batch).at(r.Latest).int(r.Runs)
	if r.Run == nil {
		a.null().null().null().null().null()
	} else {
		a.int(r.Run.Number).at(r.Run.OpenedAt).int(int64(r.Run.Idle)).at(r.Run.Activity).at(r.Run.WallAt)
	}
	return a.at(r.Due)
}

// writeRow writes the board's row. It reports whether the entry and its region went
// with it.
func (t *tx) writeRow(h *hold, ch *board.Change) (single bool, err error) {
	r := &ch.Row
	switch {
	case ch.Create:
		if h.found {
			return false, fmt.Errorf("board %s exists and cannot be created", r.Ref)
		}
		if err := t.findTenant(h, r.Ref.Tenant); err != nil {
			return false, err
		}
		t.remember(h, ch)
		t.board(h).row(t.batch, r).text(string(r.Ref.Board)).int(instantOf(r.Created))
		err = t.c.add(insertBoard, nil)
	case !h.found:
		return false, fmt.Errorf("board %s does not exist and cannot be changed", r.Ref)
	default:
		t.remember(h, ch)
		a := t.board(h).int(h.row.Rev).row(t.batch, r)
		if single = isSingle(ch); single {
			a.region(&ch.Regions[0]).entry(&ch.Entries[0])
			err = t.c.add(writeOne, nil)
		} else {
			err = t.c.add(updateBoard, nil)
		}
	}
	h.found, h.row = true, *r
	h.row.Run = nil // not needed, and the caller's
	return single, err
}

// isSingle reports whether writeOne writes what there is of regions and entries.
func isSingle(ch *board.Change) bool {
	if len(ch.Entries) != 1 || len(ch.Regions) != 1 {
		return false
	}
	e, r := &ch.Entries[0], &ch.Regions[0]
	return e.Region == r.Name && e.Kind == r.Kind && len(e.Blobs) == 0 && e.Erased == nil
}

// findTenant learns the number of a tenant that had no board when the transaction
// began. It is the one thing that cannot wait for the commit's trip.
func (t *tx) findTenant(h *hold, name id.Tenant) error {
	if h.tenant != 0 {
		return nil
	}
	t.c.bind().text(string(name))
	err := t.c.add(findTenant, func(r row) error {
		h.tenant = r.int4(0)
		return nil
	})
	if err != nil {
		return err
	}
	return t.c.send()
}

func (a *args) region(r *board.Region) *args {
	return a.text(r.Name).text(string(r.Kind)).int(int64(r.Window)).optText(r.Owner).int(int64(r.Last)).
		int(int64(r.Version)).int(r.Count).optText(r.LastWriter).int(int64(r.Other))
}

func (a *args) entry(e *board.Entry) *args {
	return a.int(int64(e.Seq)).int(int64(e.Version)).at(e.At).optText(e.Writer).optText(e.Key).digest(e.Digest).
		bytes(e.Salt).bytes(e.Content)
}

func (t *tx) writeRegions(h *hold, all []board.Region) error {
	n := len(all)
	if n == 0 {
		return nil
	}
	t.board(h).
		texts(n, func(i int) string { return all[i].Name }).
		texts(n, func(i int) string { return string(all[i].Kind) }).
		ints(n, func(i int) int64 { return int64(all[i].Window) }).
		optTexts(n, func(i int) string { return all[i].Owner }).
		ints(n, func(i int) int64 { return int64(all[i].Last) }).
		ints(n, func(i int) int64 { return int64(all[i].Version) }).
		ints(n, func(i int) int64 { return all[i].Count }).
		optTexts(n, func(i int) string { return all[i].LastWriter }).
		ints(n, func(i int) int64 { return int64(all[i].Other) })
	return t.c.add(writeRegions, nil)
}

// writeRun writes what goes when the run closes.
func (t *tx) writeRun(h *hold, ch *board.Change) error {
	if ch.DropRun {
		for _, statement := range []*statement{dropOutbox, dropAgents} {
			t.board(h)
			if err := t.c.add(statement, nil); err != nil {
				return err
			}
		}
	}
	if n := len(ch.DropOutbox); n > 0 && !ch.DropRun {
		t.board(h).texts(n, func(i int) string { return ch.DropOutbox[i] })
		if err := t.c.add(dropOutboxNamed, nil); err != nil {
			return err
		}
	}
	for i := range ch.Agents {
		a := &ch.Agents[i]
		t.board(h).text(a.Name).optText(a.Address).names(a.WritesTo).names(a.SubscribesTo).
			int(int64(a.Told)).int(int64(a.Cursor)).at(a.Registered)
		if err := t.c.add(writeAgent, nil); err != nil {
			return err
		}
	}
	var pending []*board.Outbox
	for i := range ch.Outbox {
		o := &ch.Outbox[i]
		if o.Claim == "" && o.From == 0 && o.To == 0 && len(o.Regions) == 0 && o.Lease.IsZero() {
			pending = append(pending, o)
			continue
		}
		t.board(h).text(o.Agent).at(o.Due).optText(o.Claim).int(int64(o.From)).int(int64(o.To)).list(o.Regions).
			at(o.Lease).int(int64(o.Tries))
		if err := t.c.add(writeOutbox, nil); err != nil {
			return err
		}
	}
	n := len(pending)
	if n == 0 {
		return nil
	}
	t.board(h).
		texts(n, func(i int) string { return pending[i].Agent }).
		ats(n, func(i int) time.Time { return pending[i].Due }).
		ints(n, func(i int) int64 { return int64(pending[i].Tries) })
	return t.c.add(writePending, nil)
}

func (t *tx) writeEntries(h *hold, all []board.Entry) error {
	n := len(all)
	if n == 0 {
		return nil
	}
	t.board(h).
		ints(n, func(i int) int64 { return int64(all[i].Seq) }).
		ints(n, func(i int) int64 { return int64(all[i].Version) }).
		ats(n, func(i int) time.Time { return all[i].At }).
		optTexts(n, func(i int) string { return all[i].Writer }).
		optTexts(n, func(i int) string { return all[i].Key }).
		manyDigests(n, func(i int) []id.Digest {
			if all[i].Digest == "" {
				return nil
			}
			return []id.Digest{all[i].Digest}
		}).
		manyDigests(n, func(i int) []id.Digest { return all[i].Blobs }).
		manyBytes(n, func(i int) []byte { return all[i].Salt }).
		manyBytes(n, func(i int) []byte { return all[i].Content }).
		texts(n, func(i int) string { return all[i].Region }).
		texts(n, func(i int) string { return string(all[i].Kind) })
	if err := t.c.add(writeEntries, nil); err != nil {
		return err
	}
	var seqs []id.Seq
	var digests []id.Digest
	var erased []board.Tombstone
	for i := range all {
		e := &all[i]
		for _, d := range e.Blobs {
			seqs, digests = append(seqs, e.Seq), append(digests, d)
		}
		if e.Erased != nil {
			erased = append(erased, board.Tombstone{Seq: e.Seq, Erasure: *e.Erased})
		}
	}
	if len(seqs) > 0 {
		t.board(h).
			ints(len(seqs), func(i int) int64 { return int64(seqs[i]) }).
			manyDigests(len(seqs), func(i int) []id.Digest { return digests[i : i+1] })
		if err := t.c.add(writeBlobRefs, nil); err != nil {
			return err
		}
	}
	return t.writeErasures(h, erased)
}

// writeErasures leaves the tombstones.
func (t *tx) writeErasures(h *hold, all []board.Tombstone) error {
	for i := range all {
		x := &all[i]
		t.board(h).int(int64(x.Seq)).int(instantOf(x.At)).text(x.By).optText(x.Reason)
		if err := t.c.add(erase, nil); err != nil {
			return err
		}
		for _, statement := range []*statement{eraseRefs, eraseCheckpoints} {
			t.board(h).int(int64(x.Seq))
			if err := t.c.add(statement, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
