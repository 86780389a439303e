package memory

import (
	"fmt"
	"slices"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
)

// draft is how a board will stand after the changes checked so far.
type draft struct {
	exists  bool
	last    id.Seq
	base    *record // nil when the transaction creates the board
	keys    map[string]bool
	regions map[string]bool
	machine bool
	// more says that further changes may follow, which must not reuse a key.
	more bool
}

// check finds what a database's constraints would: it runs before anything is
// written, so that a commit keeps all or nothing. The caller holds data.
func (t *tx) check() error {
	var fresh map[blobKey]bool
	for i := range t.blobs {
		b := &t.blobs[i]
		if fresh == nil {
			fresh = map[blobKey]bool{}
		}
		fresh[blobKey{b.Tenant, b.Digest}] = true
	}
	stored := func(tenant id.Tenant, d id.Digest) bool {
		key := blobKey{tenant, d}
		return fresh[key] || t.s.blobs[key] != nil
	}
	var drafts map[id.Ref]*draft
	look := func(ref id.Ref) *draft {
		if d := drafts[ref]; d != nil {
			return d
		}
		d := &draft{}
		if r := t.holds(ref).slot.data; r != nil {
			*d = draft{exists: true, last: r.head(), base: r, machine: r.machine != nil}
		}
		if len(t.boards)+len(t.machines) > 1 {
			d.more = true
			if drafts == nil {
				drafts = map[id.Ref]*draft{}
			}
			drafts[ref] = d
		}
		return d
	}
	for i := range t.boards {
		c := &t.boards[i]
		if err := look(c.Row.Ref).check(c, stored); err != nil {
			return err
		}
	}
	for i := range t.machines {
		c := &t.machines[i]
		d := look(c.Ref)
		switch {
		case !d.exists:
			return fmt.Errorf("memory: machine rows for board %s, which does not exist", c.Ref)
		case c.Digest == "" && !d.machine:
			return fmt.Errorf("memory: machine rows for board %s, which runs no machine", c.Ref)
		case c.Digest != "" && !stored(c.Ref.Tenant, c.Digest):
			return fmt.Errorf("memory: board %s: the machine's definition %s is not stored", c.Ref, c.Digest)
		}
		d.machine = true
	}
	return nil
}

// check moves the draft past one change, or says what is wrong with it.
func (d *draft) check(c *board.Change, stored func(id.Tenant, id.Digest) bool) error {
	ref := c.Row.Ref
	switch {
	case c.Create && !c.Delete && d.exists:
		return fmt.Errorf("memory: board %s exists and cannot be created", ref)
	case (!c.Create || c.Delete) && !d.exists:
		return fmt.Errorf("memory: board %s does not exist and cannot be changed", ref)
	}
	if c.Delete {
		*d = draft{more: d.more}
		if !c.Create {
			return nil
		}
	}
	d.exists = true
	for i := range c.Regions {
		if d.base == nil || d.base.region(c.Regions[i].Name) == nil {
			if d.regions == nil {
				d.regions = map[string]bool{}
			}
			d.regions[c.Regions[i].Name] = true
		}
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Seq <= d.last {
			return fmt.Errorf("memory: board %s: entry %d does not follow entry %d", ref, e.Seq, d.last)
		}
		d.last = e.Seq
		if (d.base == nil || d.base.region(e.Region) == nil) && !d.regions[e.Region] {
			return fmt.Errorf("memory: board %s: entry %d: region %q is not declared", ref, e.Seq, e.Region)
		}
		if e.Key != "" {
			taken := d.keys[e.Key]
			if !taken && d.base != nil {
				_, taken = d.base.keys[e.Key]
			}
			if taken {
				return fmt.Errorf("memory: board %s: entry %d: key %q was written before", ref, e.Seq, e.Key)
			}
			if d.more || len(c.Entries) > 1 {
				if d.keys == nil {
					d.keys = map[string]bool{}
				}
				d.keys[e.Key] = true
			}
		}
		for _, b := range e.Blobs {
			if !stored(ref.Tenant, b) {
				return fmt.Errorf("memory: board %s: entry %d: blob %s is not stored", ref, e.Seq, b)
			}
		}
	}
	for i := range c.Erase {
		seq := c.Erase[i].Seq
		if seq > d.last || d.base != nil && seq <= d.base.head() && d.base.entry(seq) == nil {
			return fmt.Errorf("memory: board %s has no entry %d to erase", ref, seq)
		}
	}
	return nil
}

// keep writes everything staged. The caller holds data and check passed.
func (t *tx) keep() {
	for i := range t.blobs {
		b := &t.blobs[i]
		key := blobKey{b.Tenant, b.Digest}
		if have := t.s.blobs[key]; have != nil {
			have.put = t.now
		} else {
			t.s.blobs[key] = &blob{content: b.Content, put: t.now}
		}
	}
	for i := range t.boards {
		c := &t.boards[i]
		t.s.keepBoard(t.holds(c.Row.Ref).slot, c)
	}
	for i := range t.machines {
		c := &t.machines[i]
		t.s.keepMachine(t.holds(c.Ref).slot.data, c)
	}
	if t.collect.IsZero() {
		return
	}
	for key, b := range t.s.blobs {
		if b.refs == 0 && b.put.Before(t.collect) {
			delete(t.s.blobs, key)
		}
	}
}

func (s *Store) keepBoard(sl *slot, c *board.Change) {
	if c.Delete {
		s.remove(sl)
		if !c.Create {
			return
		}
	}
	r := sl.data
	if c.Create {
		r = &record{row: c.Row}
		sl.data = r
		tenant := c.Row.Ref.Tenant
		i, _ := slices.BinarySearchFunc(s.names[tenant], c.Row.Ref.Board, byRecord)
		s.names[tenant] = slices.Insert(s.names[tenant], i, r)
		s.setDue(due{ref: c.Row.Ref}, due{c.Row.Due, c.Row.Ref})
	} else {
		if !r.row.Due.Equal(c.Row.Due) {
			s.setDue(due{r.row.Due, c.Row.Ref}, due{c.Row.Due, c.Row.Ref})
		}
		r.row = c.Row
	}
	for i := range c.Regions {
		name := c.Regions[i].Name
		if at, ok := slices.BinarySearchFunc(r.regions, name, byRegion); ok {
			r.regions[at].Region = c.Regions[i]
		} else {
			r.regions = slices.Insert(r.regions, at, &region{Region: c.Regions[i]})
		}
	}
	if c.DropRun {
		r.agents, r.outbox = nil, nil
	}
	for _, agent := range c.DropOutbox {
		if at, ok := slices.BinarySearchFunc(r.outbox, agent, byOutbox); ok {
			r.outbox = slices.Delete(r.outbox, at, at+1)
		}
	}
	for _, a := range c.Agents {
		r.agents = upsert(r.agents, a, a.Name, byAgent)
	}
	for _, o := range c.Outbox {
		r.outbox = upsert(r.outbox, o, o.Agent, byOutbox)
	}
	for i := range c.Entries {
		s.keepEntry(r, &c.Entries[i])
	}
	for i := range c.Erase {
		e := r.entry(c.Erase[i].Seq)
		erasure := c.Erase[i].Erasure
		for _, d := range e.Blobs {
			s.unref(c.Row.Ref.Tenant, d)
		}
		e.Content, e.Salt, e.Blobs, e.Erased = nil, nil, nil, &erasure
		if r.machine != nil && r.machine.Checkpoint != nil && r.machine.Checkpoint.Seq >= e.Seq {
			r.machine.Checkpoint = nil
		}
	}
	for i := range c.Outcomes {
		if r.outcome == nil || c.Outcomes[i].Run >= r.outcome.Run {
			r.outcome = &c.Outcomes[i]
		}
	}
}

func (s *Store) keepEntry(r *record, e *board.Entry) {
	r.region(e.Region).at.append(int32(r.entries.len()))
	if e.Key != "" {
		if r.keys == nil {
			r.keys = map[string]id.Seq{}
		}
		r.keys[e.Key] = e.Seq
	}
	for _, d := range e.Blobs {
		s.blobs[blobKey{r.row.Ref.Tenant, d}].refs++
	}
	r.entries.append(*e)
}

func (s *Store) keepMachine(r *record, c *store.MachineChange) {
	m := r.machine
	if m == nil {
		m = &store.MachineFacts{Found: true}
		r.machine = m
	}
	if c.Digest != "" {
		s.blobs[blobKey{c.Ref.Tenant, c.Digest}].refs++
		s.unref(c.Ref.Tenant, m.Digest)
		m.Digest = c.Digest
	}
	if c.Checkpoint != nil && (m.Checkpoint == nil || c.Checkpoint.Seq >= m.Checkpoint.Seq) {
		m.Checkpoint = c.Checkpoint
	}
	for _, agent := range c.DropSummons {
		m.Summons = slices.DeleteFunc(m.Summons, func(x machine.Summons) bool { return x.Agent == agent })
	}
	for _, x := range c.Summons {
		m.Summons = upsert(m.Summons, x, x.Agent, bySummons)
	}
}

// remove takes the board out of every index.
func (s *Store) remove(sl *slot) {
	r := sl.data
	sl.data = nil
	ref := r.row.Ref
	all := s.names[ref.Tenant]
	if i, ok := slices.BinarySearchFunc(all, ref.Board, byRecord); ok {
		s.names[ref.Tenant] = slices.Delete(all, i, i+1)
	}
	if len(s.names[ref.Tenant]) == 0 {
		delete(s.names, ref.Tenant)
	}
	s.setDue(due{r.row.Due, ref}, due{ref: ref})
	for i := range r.entries.len() {
		for _, d := range r.entries.at(i).Blobs {
			s.unref(ref.Tenant, d)
		}
	}
	if r.machine != nil {
		s.unref(ref.Tenant, r.machine.Digest)
	}
}

func (s *Store) unref(tenant id.Tenant, d id.Digest) {
	if b := s.blobs[blobKey{tenant, d}]; b != nil {
		b.refs--
	}
}

// setDue moves a board in the index of what is due; a zero instant is not in it.
func (s *Store) setDue(from, to due) {
	if !from.at.IsZero() {
		if i, ok := slices.BinarySearchFunc(s.due, from, byDue); ok {
			s.due = slices.Delete(s.due, i, i+1)
		}
	}
	if !to.at.IsZero() {
		i, _ := slices.BinarySearchFunc(s.due, to, byDue)
		s.due = slices.Insert(s.due, i, to)
	}
}

// upsert inserts v into the slice sorted by name, or replaces the one there.
func upsert[T any](all []T, v T, name string, by func(T, string) int) []T {
	i, ok := slices.BinarySearchFunc(all, name, by)
	if ok {
		all[i] = v
		return all
	}
	return slices.Insert(all, i, v)
}
