package postgres

import (
	"context"

	"github.com/slate-agents/slate/board"
)

// wary is for how many transactions nobody's word is taken for holding a board's
// state, after it was wrong once: another process writes here.
const wary = 1000

// start makes the first trip. Where a caller turns out not to hold the state that it
// says, it makes a second one, and the next transactions do not rely on it.
func (t *tx) start(ctx context.Context, wants []board.Want) ([]board.Facts, error) {
	t.c.plain(begin, nil)
	if err := t.lock(wants); err != nil {
		return nil, err
	}
	if len(wants) == 0 {
		t.c.plain(clock, func(r row) error {
			t.now, t.number = r.at(0), r.int(1)
			return nil
		})
	}
	facts := make([]board.Facts, len(wants))
	trust := t.s.wary.Load() <= 0
	if !trust {
		t.s.wary.Add(-1)
	}
	wrong := 0
	for i := range wants {
		w := &wants[i]
		var err error
		if trust && w.Have != 0 {
			wrong++
			err = t.askSame(w, &facts[i], func() { wrong-- })
		} else {
			err = t.askBoard(w, &facts[i])
		}
		if err == nil {
			err = t.askMore(w, &facts[i])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.c.roundTrip(ctx); err != nil || wrong == 0 {
		return facts, err
	}
	t.s.wary.Store(wary)
	for i := range wants {
		if wants[i].Have != 0 && !facts[i].Same {
			if err := t.askBoard(&wants[i], &facts[i]); err != nil {
				return nil, err
			}
		}
	}
	return facts, t.c.roundTrip(ctx)
}

// askBoard adds the statement that reads a board with everything a want asks of it.
// The facts are filled in by the trip.
func (t *tx) askBoard(w *board.Want, f *board.Facts) error {
	h := t.held[w.Ref]
	statement := readHeld
	a := t.c.bind().text(string(w.Ref.Tenant)).text(string(w.Ref.Board)).int(have(w))
	switch {
	case len(w.Keys) == 1 && len(w.Entries) == 0:
		statement = readHeldKey
		a.text(w.Keys[0])
	case len(w.Keys)+len(w.Entries) > 0:
		statement = readHeldEntries
		a.lookups(w)
	}
	return t.c.add(statement, func(r row) error {
		t.first(r)
		const own = 4 // the columns of underLock
		if err := readFacts(r[own:], w, f); err != nil {
			return err
		}
		if h.number == 0 {
			h.place(r.int4(2), r.int(3), r[own:], f)
		}
		if !f.Found {
			return nil
		}
		return readLookups(r[own+rowWidth+stateWidth:], w, f)
	})
}

// askSame adds the statement that reads a board whose state the caller holds. When it
// does, same is called; otherwise the facts are left empty.
func (t *tx) askSame(w *board.Want, f *board.Facts, same func()) error {
	h := t.held[w.Ref]
	statement := readSame
	a := t.c.bind().text(string(w.Ref.Tenant)).text(string(w.Ref.Board))
	switch {
	case len(w.Keys) == 1 && len(w.Entries) == 0:
		statement = readSameKey
		a.text(w.Keys[0])
	case len(w.Keys)+len(w.Entries) > 0:
		statement = readSameEntries
		a.lookups(w)
	}
	return t.c.add(statement, func(r row) error {
		t.first(r)
		const own = 2 // the columns before rowColumns
		row := readRow(r[own:], w.Ref)
		if row.Rev != w.Have {
			return nil
		}
		same()
		f.Found, f.Same, f.Row = true, true, row
		if h.number == 0 {
			h.place(0, 0, r[own:], f)
		}
		return readLookups(r[own+rowWidth:], w, f)
	})
}

// askMore adds what else a want asks for.
func (t *tx) askMore(w *board.Want, f *board.Facts) error {
	if len(w.Blobs) > 0 {
		t.c.bind().text(string(w.Ref.Tenant)).blobs(w)
		err := t.c.add(readHeldBlobs, func(r row) error {
			readBlobSize(r, w, f)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.askMachine(w, t.held[w.Ref])
}

// first reads the clock and the transaction's number, with which every row begins.
func (t *tx) first(r row) {
	if t.number == 0 {
		t.now, t.number = r.at(0), r.int(1)
	}
}

// place says where the board is: as rowColumns say, or for one that does not exist
// under the tenant's number, if it has one, and one drawn for the board.
func (h *hold) place(tenant int32, drawn int64, r row, f *board.Facts) {
	h.found, h.tenant, h.number = f.Found, tenant, drawn
	if f.Found {
		h.tenant, h.number, h.row = r.int4(0), r.int(1), f.Row
	}
}
