package memory

import (
	"slices"
	"strings"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// record is everything the store keeps of one board. It is guarded by Store.data.
type record struct {
	row     board.Row
	regions []*region // by name
	agents  []board.Agent
	outbox  []board.Outbox
	outcome *wire.Outcome
	entries list[board.Entry]
	keys    map[string]id.Seq
	machine *store.MachineFacts
}

// region is a region's row and where its entries are.
type region struct {
	board.Region
	at list[int32]
}

// head is the sequence number of the last entry kept.
func (r *record) head() id.Seq {
	if n := r.entries.len(); n > 0 {
		return r.entries.at(n - 1).Seq
	}
	return 0
}

// after is the index of the first entry whose sequence number exceeds seq. Records
// normally have no gaps, so the guess from the number is nearly always right.
func (r *record) after(seq id.Seq) int {
	n := r.entries.len()
	if seq <= 0 {
		return 0
	}
	if i := int(seq); i <= n && r.entries.at(i-1).Seq == seq {
		return i
	}
	return search(n, func(i int) bool { return r.entries.at(i).Seq > seq })
}

// entry returns the entry with that sequence number, or nil.
func (r *record) entry(seq id.Seq) *board.Entry {
	if i := r.after(seq); i > 0 {
		if e := r.entries.at(i - 1); e.Seq == seq {
			return e
		}
	}
	return nil
}

// region returns the region of that name, or nil.
func (r *record) region(name string) *region {
	i, ok := slices.BinarySearchFunc(r.regions, name, byRegion)
	if !ok {
		return nil
	}
	return r.regions[i]
}

func byRegion(r *region, name string) int       { return strings.Compare(r.Name, name) }
func byAgent(a board.Agent, name string) int    { return strings.Compare(a.Name, name) }
func byOutbox(o board.Outbox, agent string) int { return strings.Compare(o.Agent, agent) }
func bySummons(s machine.Summons, n string) int { return strings.Compare(s.Agent, n) }
func byRecord(r *record, name id.Board) int {
	return strings.Compare(string(r.row.Ref.Board), string(name))
}

// page reads the entries that a query selects.
func (r *record) page(q board.EntryQuery) []board.Entry {
	through := q.Through
	if through == 0 {
		through = r.row.Head
	}
	if q.Region == "" {
		return pick(r.after(q.After), r.after(through), q, r.entries.at)
	}
	reg := r.region(q.Region)
	if reg == nil {
		return nil
	}
	at := func(i int) *board.Entry { return r.entries.at(int(*reg.at.at(i))) }
	after := func(seq id.Seq) int {
		return search(reg.at.len(), func(i int) bool { return at(i).Seq > seq })
	}
	return pick(after(q.After), after(through), q, at)
}

// pick copies a page of the entries in [first, last).
func pick(first, last int, q board.EntryQuery, at func(int) *board.Entry) []board.Entry {
	n := min(last-first, q.Limit)
	if n <= 0 {
		return nil
	}
	out := make([]board.Entry, n)
	for i := range out {
		if q.Newest {
			out[i] = readEntry(at(last - 1 - i))
		} else {
			out[i] = readEntry(at(first + i))
		}
	}
	return out
}

// facts answers one want about the board.
func (r *record) facts(w *board.Want, f *board.Facts) {
	f.Found = true
	f.Row = cloneRow(r.row)
	for _, key := range w.Keys {
		if seq, ok := r.keys[key]; ok {
			if f.Keys == nil {
				f.Keys = make(map[string]board.Entry, len(w.Keys))
			}
			f.Keys[key] = readEntry(r.entry(seq))
		}
	}
	for _, seq := range w.Entries {
		if e := r.entry(seq); e != nil {
			if f.Entries == nil {
				f.Entries = make(map[id.Seq]board.Entry, len(w.Entries))
			}
			f.Entries[seq] = readEntry(e)
		}
	}
	if w.Have != 0 && w.Have == r.row.Rev {
		f.Same = true
		return
	}
	f.Regions = make([]board.Region, len(r.regions))
	for i, reg := range r.regions {
		f.Regions[i] = reg.Region
	}
	f.Agents = make([]board.Agent, len(r.agents))
	for i := range r.agents {
		f.Agents[i] = cloneAgent(r.agents[i])
	}
	f.Outbox = make([]board.Outbox, len(r.outbox))
	for i := range r.outbox {
		f.Outbox[i] = cloneOutbox(r.outbox[i])
	}
	f.Outcome = cloneOutcome(r.outcome)
}

// search is the smallest i in [0, n) for which f is true, or n.
func search(n int, f func(int) bool) int {
	lo, hi := 0, n
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); f(m) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}
