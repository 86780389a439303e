package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// view is a board as it was found after its latest commit, and its record retold.
type view struct {
	ref     id.Ref
	facts   board.Facts
	entries []board.Entry
	folded  map[string]*folded
	keys    map[string]id.Seq
	// joined is where each agent of the open run began.
	joined map[string]id.Seq
	// contents are the positions of each content, which the writers tell apart.
	contents map[string][]id.Seq
	// machine says that a machine owns the board.
	machine bool
}

// folded is what a region comes to when its record is retold.
type folded struct {
	last, other id.Seq
	version     id.Version
	count       int64
	writer      string
}

// watch makes a board one that is looked at.
func (s *sim) watch(ref id.Ref, machine bool) {
	if s.boards[ref] == nil {
		s.boards[ref] = newView(ref, machine)
		s.order = append(s.order, ref)
	}
}

func newView(ref id.Ref, machine bool) *view {
	return &view{ref: ref, machine: machine, folded: map[string]*folded{}, keys: map[string]id.Seq{}, joined: map[string]id.Seq{}, contents: map[string][]id.Seq{}}
}

// lookAt is look for one board, in the middle of a step.
func (s *sim) lookAt(ref id.Ref) {
	s.mu.Lock()
	at, committed := s.commits[ref]
	delete(s.commits, ref)
	s.mu.Unlock()
	if committed && s.boards[ref] != nil && s.ok() {
		s.inspect(s.boards[ref], at)
	}
}

// look holds the boards that were committed in this step against the rules.
func (s *sim) look() {
	s.mu.Lock()
	commits := s.commits
	s.commits = map[id.Ref]time.Time{}
	s.mu.Unlock()
	for _, ref := range s.order {
		if at, committed := commits[ref]; committed && s.ok() {
			s.inspect(s.boards[ref], at)
		}
	}
	if s.step%50 == 0 && s.ok() {
		// Nothing changes but by a commit.
		for _, ref := range s.order {
			v := s.boards[ref]
			f, err := s.raw.Look(s.ctx, board.Want{Ref: ref})
			if err != nil {
				s.fail("looking at %s: %v", ref, err)
			} else if !same(f, v.facts) {
				s.fail("%s changed without a commit\nfrom %+v\nto   %+v", ref, v.facts, f)
			}
		}
	}
}

// same compares facts; a list that is empty is one that is not there.
func same(a, b board.Facts) bool {
	norm := func(f board.Facts) board.Facts {
		if len(f.Regions) == 0 {
			f.Regions = nil
		}
		if len(f.Agents) == 0 {
			f.Agents = nil
		}
		if len(f.Outbox) == 0 {
			f.Outbox = nil
		}
		return f
	}
	return reflect.DeepEqual(norm(a), norm(b))
}

// inspect looks at a board after a transaction on it was committed, and moves the
// view on.
func (s *sim) inspect(v *view, now time.Time) {
	f, err := s.raw.Look(s.ctx, board.Want{Ref: v.ref})
	if err != nil {
		s.fail("looking at %s: %v", v.ref, err)
		return
	}
	bad := func(format string, args ...any) {
		s.fail("board %s: %s\nbefore %+v\nafter  %+v", v.ref, fmt.Sprintf(format, args...), v.facts, f)
	}
	before := v.facts
	if !f.Found || before.Found && !f.Row.Created.Equal(before.Row.Created) {
		*v = *newView(v.ref, v.machine)
		if !f.Found {
			return
		}
		before = board.Facts{}
	}
	if before.Found && f.Row.Rev != before.Row.Rev && f.Row.Rev != before.Row.Rev+1 {
		bad("one transaction moved the revision from %d to %d", before.Row.Rev, f.Row.Rev)
	}
	if before.Found && f.Row.Rev == before.Row.Rev && !same(f, before) {
		bad("the board changed under one revision")
	}
	at := now
	if before.Found && at.Before(before.Row.Latest) {
		at = before.Row.Latest
	}
	fresh := s.appended(v, f, at, bad)
	s.limits(v, f, at, len(fresh) > 0, bad)
	s.roster(v, before, f, bad)
	s.owed(v, f, bad)
	v.facts = f
	if len(v.entries) != int(f.Row.Head) {
		bad("the record has %d entries and the row says %d", len(v.entries), f.Row.Head)
	}
}

// appended reads what was added to the record and retells the regions.
func (s *sim) appended(v *view, f board.Facts, at time.Time, bad func(string, ...any)) []board.Entry {
	var fresh []board.Entry
	for {
		after := id.Seq(len(v.entries))
		page, _, err := s.raw.Entries(s.ctx, v.ref, board.EntryQuery{After: after, Limit: 500})
		if err != nil {
			bad("reading: %v", err)
			return nil
		}
		for _, e := range page {
			if e.Seq != id.Seq(len(v.entries)+1) {
				bad("entry %d follows entry %d", e.Seq, len(v.entries))
				return nil
			}
			s.retell(v, e, bad)
			if !e.At.Equal(at) {
				bad("entry %d is stamped %s, its transaction %s", e.Seq, e.At, at)
			}
		}
		fresh = append(fresh, page...)
		if len(page) < 500 {
			break
		}
	}
	for _, r := range f.Regions {
		t := v.folded[r.Name]
		if t == nil {
			t = &folded{}
		}
		if got := (folded{r.Last, r.Other, r.Version, r.Count, r.LastWriter}); got != *t {
			bad("region %s says %+v, its record %+v", r.Name, got, *t)
		}
	}
	return fresh
}

// retell moves the regions past one entry.
func (s *sim) retell(v *view, e board.Entry, bad func(string, ...any)) {
	v.entries = append(v.entries, e)
	v.contents[string(e.Content)] = append(v.contents[string(e.Content)], e.Seq)
	t := v.folded[e.Region]
	if t == nil {
		t = &folded{}
		v.folded[e.Region] = t
	}
	if e.Kind == wire.Premise {
		t.version++
	}
	if e.Version != t.version {
		bad("entry %d makes version %d of %s, the one before made %d", e.Seq, e.Version, e.Region, t.version-1)
	}
	if t.writer != e.Writer {
		t.other, t.writer = t.last, e.Writer
	}
	t.last = e.Seq
	t.count++
	if e.Key != "" {
		if first, twice := v.keys[e.Key]; twice {
			bad("key %s wrote entries %d and %d", e.Key, first, e.Seq)
		}
		v.keys[e.Key] = e.Seq
	}
	if e.Content != nil {
		if sum := sha256.Sum256(append(append([]byte(nil), e.Salt...), e.Content...)); e.Digest != id.Digest(hex.EncodeToString(sum[:])) {
			bad("entry %d has not the digest of its content", e.Seq)
		}
	}
}

func passed(limit, now time.Time) bool { return !limit.IsZero() && !now.Before(limit) }

// limits holds a run to its limits: nothing is accepted after one has passed, and a
// run closes for no other reason than the one that is on the record.
func (s *sim) limits(v *view, f board.Facts, at time.Time, wrote bool, bad func(string, ...any)) {
	run := v.facts.Row.Run
	if run == nil {
		if wrote && f.Row.Run == nil && v.facts.Found {
			bad("something was written while no run was open")
		}
		return
	}
	idle, wall := passed(run.IdleAt(), at), passed(run.WallAt, at)
	if judged(v.ref) {
		idle = false // who holds the predicate decides; what it may decide is looked at below
	}
	same := f.Row.Run != nil && f.Row.Run.Number == run.Number
	if same {
		if (idle || wall) && (wrote || !f.Row.Run.Activity.Equal(run.Activity) || len(f.Agents) > len(v.facts.Agents)) {
			bad("run %d took something at %s, after its limit", run.Number, at)
		}
		return
	}
	s.stats.Closed++
	o := f.Outcome
	switch {
	case o == nil || o.Run != run.Number:
		bad("run %d closed without an outcome", run.Number)
		return
	case !o.ClosedAt.Equal(at) || !o.OpenedAt.Equal(run.OpenedAt):
		bad("run %d closed at %s, its outcome says %+v", run.Number, at, *o)
	}
	idleFirst := passed(run.IdleAt(), at) && (run.WallAt.IsZero() || !run.WallAt.Before(run.IdleAt()))
	switch {
	case v.machine && (o.Kind == wire.Aborted || o.Kind == wire.Settled):
	case o.Kind == wire.Settled && !idleFirst, o.Kind == wire.WallClockExpired && !wall:
		bad("run %d ended %s at %s, its limits are %s and %s", run.Number, o.Kind, at, run.IdleAt(), run.WallAt)
	case o.Kind == wire.Aborted && (wall || idle):
		bad("run %d was aborted after its limit", run.Number)
	case o.Kind == wire.Settled && judged(v.ref) && o.Complete && !complete(v.facts.Row.Head):
		bad("run %d settled as complete at position %d", run.Number, v.facts.Row.Head)
	}
	if v.machine {
		return
	}
	var unfinished []string
	for _, a := range v.facts.Agents {
		if o.Kind != wire.Aborted && (a.Told > a.Cursor || slices.ContainsFunc(v.facts.Outbox, func(o board.Outbox) bool { return o.Agent == a.Name })) {
			unfinished = append(unfinished, a.Name)
		}
	}
	sort.Strings(unfinished)
	if !slices.Equal(unfinished, o.Unfinished) {
		bad("run %d left %v unfinished, its outcome says %v", run.Number, unfinished, o.Unfinished)
	}
	if f.Row.Run == nil && len(f.Agents)+len(f.Outbox) > 0 {
		bad("run %d left rows", run.Number)
	}
}

// roster follows the agents of the run.
func (s *sim) roster(v *view, before, f board.Facts, bad func(string, ...any)) {
	old := map[string]board.Agent{}
	if before.Row.Run != nil && f.Row.Run != nil && before.Row.Run.Number == f.Row.Run.Number {
		for _, a := range before.Agents {
			old[a.Name] = a
		}
	} else {
		v.joined = map[string]id.Seq{}
	}
	for _, a := range f.Agents {
		was, known := old[a.Name]
		delete(old, a.Name)
		switch {
		case !known:
			v.joined[a.Name] = a.Told
		case a.Told < was.Told || a.Cursor < was.Cursor:
			bad("agent %s went back", a.Name)
		}
		if a.Cursor > a.Told || a.Told > f.Row.Head {
			bad("agent %s is told up to %d and has answered up to %d, the head is %d", a.Name, a.Told, a.Cursor, f.Row.Head)
		}
	}
	if len(old) > 0 {
		bad("agents went: %v", old)
	}
}

// wakes says whether an entry puts an agent out of date (B8).
func wakes(a *board.Agent, e *board.Entry) bool {
	if e.Writer == a.Name {
		return false
	}
	if a.SubscribesTo.Set {
		return slices.Contains(a.SubscribesTo.Names, e.Region)
	}
	return e.Kind == wire.Premise
}

// owed holds the outbox to the record: an agent that is out of date has a row that
// is due in time, and no row is there for nothing.
func (s *sim) owed(v *view, f board.Facts, bad func(string, ...any)) {
	windows := map[string]time.Duration{}
	for _, r := range f.Regions {
		windows[r.Name] = r.Window
	}
	rows := map[string]board.Outbox{}
	for _, o := range f.Outbox {
		rows[o.Agent] = o
		first := o.Due
		if o.Claim != "" {
			first = o.Lease
			if o.From < 1 || o.To < o.From || o.To > f.Row.Head || len(o.Regions) == 0 || o.Tries < 1 {
				bad("what is in flight for %s is %+v", o.Agent, o)
			}
		}
		if first.IsZero() || f.Row.Due.IsZero() || f.Row.Due.After(first) {
			bad("a sweep looks here at %s, the row of %s is due at %s", f.Row.Due, o.Agent, first)
		}
	}
	if run := f.Row.Run; run != nil && (f.Row.Due.After(run.IdleAt()) && !run.IdleAt().IsZero() || f.Row.Due.After(run.WallAt) && !run.WallAt.IsZero()) {
		bad("a sweep looks here at %s, after a limit of the run", f.Row.Due)
	}
	for i := range f.Agents {
		a := &f.Agents[i]
		row := rows[a.Name]
		delete(rows, a.Name)
		var due time.Time
		for k := max(int(a.Told), int(v.joined[a.Name])); k < len(v.entries); k++ {
			if e := &v.entries[k]; wakes(a, e) {
				if at := e.At.Add(windows[e.Region]); due.IsZero() || at.Before(due) {
					due = at
				}
			}
		}
		if !row.Due.Equal(due) {
			bad("agent %s is to be told at %s, its row says %s", a.Name, due, row.Due)
		}
	}
	for name := range rows {
		bad("the outbox has a row for %s, who is no agent", name)
	}
}
