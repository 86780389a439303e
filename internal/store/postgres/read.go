package postgres

import (
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// readRow reads rowColumns, which begin at r[0].
func readRow(r row, ref id.Ref) board.Row {
	out := board.Row{
		Ref: ref, Rev: r.int(2), Head: id.Seq(r.int(3)),
		Created: r.at(4), Latest: r.at(5), Runs: r.int(6), Due: r.at(12),
	}
	if r.has(7) {
		out.Run = &board.Run{
			Number: r.int(7), OpenedAt: r.at(8), Idle: time.Duration(r.int(9)), Activity: r.at(10), WallAt: r.at(11),
		}
	}
	return out
}

// readFacts reads rowColumns and stateColumns, which begin at r[0], and reports
// whether there is such a board.
func readFacts(r row, w *board.Want, f *board.Facts) error {
	if !r.has(2) {
		return nil
	}
	f.Found = true
	f.Row = readRow(r, w.Ref)
	if w.Have != 0 && w.Have == f.Row.Rev {
		f.Same = true
		return nil
	}
	return readState(r[rowWidth:], f)
}

// have is the revision that the statements compare with; none is at -1.
func have(w *board.Want) int64 {
	if w.Have == 0 {
		return -1
	}
	return w.Have
}

// readState reads stateColumns.
func readState(r row, f *board.Facts) error {
	err := r.records(0, func(r row) error {
		f.Regions = append(f.Regions, board.Region{
			Region: wire.Region{
				Name: r.text(0), Kind: r.kind(1), Window: time.Duration(r.int(2)), Owner: r.text(3),
				Last: id.Seq(r.int(4)), Version: id.Version(r.int(5)), Count: r.int(6),
			},
			LastWriter: r.text(7), Other: id.Seq(r.int(8)),
		})
		return nil
	})
	if err != nil {
		return err
	}
	err = r.records(1, func(r row) error {
		writes, err := r.names(2)
		if err != nil {
			return err
		}
		subscribes, err := r.names(3)
		if err != nil {
			return err
		}
		f.Agents = append(f.Agents, board.Agent{
			AgentDecl: wire.AgentDecl{Name: r.text(0), Address: r.text(1), WritesTo: writes, SubscribesTo: subscribes},
			Told:      id.Seq(r.int(4)), Cursor: id.Seq(r.int(5)), Registered: r.at(6),
		})
		return nil
	})
	if err != nil {
		return err
	}
	err = r.records(2, func(r row) error {
		regions, err := r.list(5)
		f.Outbox = append(f.Outbox, board.Outbox{
			Agent: r.text(0), Due: r.at(1), Claim: r.text(2), From: id.Seq(r.int(3)), To: id.Seq(r.int(4)),
			Regions: regions, Lease: r.at(6), Tries: int(r.int(7)),
		})
		return err
	})
	if err != nil || !r.has(3) {
		return err
	}
	o, err := r.record(3)
	if err != nil {
		return err
	}
	unfinished, err := o.list(4)
	f.Outcome = &wire.Outcome{
		Run: o.int(0), Kind: wire.OutcomeKind(o.text(1)), Reason: o.text(2), Complete: o.bool(3),
		Unfinished: unfinished, OpenedAt: o.at(5), ClosedAt: o.at(6), Seq: id.Seq(o.int(7)),
	}
	return err
}

// readLookups reads what was looked up of a board that exists: nothing, the column of
// lookup or those of lookups, which begin at r[0].
func readLookups(r row, w *board.Want, f *board.Facts) error {
	switch len(r) {
	case 0:
		return nil
	case 1:
		return readLookup(r, f)
	}
	if len(w.Keys) > 0 {
		err := r.records(0, func(r row) error {
			e := readEntry(r)
			if f.Keys == nil {
				f.Keys = make(map[string]board.Entry, len(w.Keys))
			}
			f.Keys[e.Key] = e
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(w.Entries) == 0 {
		return nil
	}
	return r.records(1, func(r row) error {
		e := readEntry(r)
		if f.Entries == nil {
			f.Entries = make(map[id.Seq]board.Entry, len(w.Entries))
		}
		f.Entries[e.Seq] = e
		return nil
	})
}

// readLookup reads the column of lookup, which is r[0].
func readLookup(r row, f *board.Facts) error {
	if !r.has(0) {
		return nil
	}
	fields, err := r.record(0)
	if err != nil {
		return err
	}
	e := readEntry(fields)
	f.Keys = map[string]board.Entry{e.Key: e}
	return nil
}

// readEntry reads entryColumns.
func readEntry(r row) board.Entry {
	e := board.Entry{Entry: wire.Entry{
		Seq: id.Seq(r.int(0)), Region: r.text(1), Kind: r.kind(2), Version: id.Version(r.int(3)), Writer: r.text(4),
		At: r.at(5), Key: r.text(6), Digest: r.digest(7), Blobs: r.digests(8), Content: r.bytes(10),
	}, Salt: r.bytes(9)}
	if r.has(11) {
		e.Erased = &wire.Erasure{At: r.at(11), By: r.text(12), Reason: r.text(13)}
	}
	return e
}

// readBlobSize reads a digest and a size.
func readBlobSize(r row, w *board.Want, f *board.Facts) {
	if f.Blobs == nil {
		f.Blobs = make(map[id.Digest]int64, len(w.Blobs))
	}
	f.Blobs[r.digest(0)] = r.int(1)
}

// readMachineFacts reads the columns of machineFacts.
func readMachineFacts(r row, f *store.MachineFacts) error {
	f.Found, f.Digest, f.Source = true, r.digest(0), r.bytes(1)
	if r.has(2) {
		c, err := r.record(2)
		if err != nil {
			return err
		}
		f.Checkpoint = &store.Checkpoint{Seq: id.Seq(c.int(0)), Body: c.bytes(1)}
	}
	return r.records(3, func(r row) error {
		f.Summons = append(f.Summons, machine.Summons{
			Agent: r.text(0), Entry: int(r.int(1)), Attempt: int(r.int(2)), Generation: r.int(3),
			Status: machine.Status(r.text(4)), Due: r.at(5), LeaseUntil: r.at(6), SentAt: r.at(7),
			Holder: r.text(8), Failure: r.text(9),
		})
		return nil
	})
}
