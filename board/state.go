package board

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// State is one board as a store read it, brought up to date by every decision made
// on it since. Its deciding methods change it only when they do not refuse. A State
// is used by one goroutine at a time.
type State struct {
	row     Row
	found   bool
	regions map[string]*Region
	agents  map[string]*Agent
	outbox  map[string]*Outbox
	outcome *wire.Outcome
	// wakes are the agents that a write wakes, by region, as far as it was asked.
	wakes map[string][]*Agent

	// keys, entries and blobs are the facts that the decisions of one transaction
	// asked for; they do not outlive it.
	keys    map[string]Entry
	entries map[id.Seq]Entry
	blobs   map[id.Digest]int64
	// wrote is where in change.Entries the transaction's own keys are.
	wrote map[string]int

	change  Change
	changed bool
	dirty   dirt
}

// dirt names the rows that changed, each once, in the order they first changed.
type dirt struct {
	regions, agents, outbox, dropped []string
}

// Env is what a decision may not find out for itself.
type Env struct {
	// Now is the store's clock, read after the board was locked.
	Now time.Time
	// Salt returns 16 fresh random bytes; the caller must not use them again.
	Salt func() []byte
	// NewID returns a fresh identifier.
	NewID func() string
	// Predicate says that the caller holds a termination predicate for the board.
	Predicate bool
}

// NewState builds the state of the board named ref from facts that a store read.
func NewState(ref id.Ref, f Facts) *State {
	s := &State{
		row:     f.Row,
		found:   f.Found,
		regions: make(map[string]*Region, len(f.Regions)),
		agents:  make(map[string]*Agent, len(f.Agents)),
		outbox:  make(map[string]*Outbox, len(f.Outbox)),
		outcome: f.Outcome,
	}
	s.row.Ref = ref
	for i := range f.Regions {
		s.regions[f.Regions[i].Name] = &f.Regions[i]
	}
	for i := range f.Agents {
		s.agents[f.Agents[i].Name] = &f.Agents[i]
	}
	for i := range f.Outbox {
		s.outbox[f.Outbox[i].Agent] = &f.Outbox[i]
	}
	s.Ask(f)
	return s
}

// Ask takes the looked-up keys, entries and blobs of facts into the state; those
// of an earlier transaction are dropped.
func (s *State) Ask(f Facts) {
	s.keys, s.entries, s.blobs = f.Keys, f.Entries, f.Blobs
	clear(s.wrote)
}

// Found reports whether the board exists.
func (s *State) Found() bool { return s.found }

// Row returns the board's row as it stands.
func (s *State) Row() Row { return s.row }

// Head returns the sequence number of the latest write.
func (s *State) Head() id.Seq { return s.row.Head }

// Region returns a region, or nil.
func (s *State) Region(name string) *Region { return s.regions[name] }

// Blob reports whether the tenant has the blob that the transaction asked for.
func (s *State) Blob(d id.Digest) bool { _, ok := s.blobs[d]; return ok }

// View describes the board as it stands. Regions and agents are sorted by name.
func (s *State) View() wire.BoardState {
	v := wire.BoardState{
		Board: s.row.Ref.Board, Head: s.row.Head, Created: s.row.Created, Latest: s.row.Latest,
		Runs: s.row.Runs, Outcome: s.outcome,
	}
	for _, r := range s.regions {
		v.Regions = append(v.Regions, r.Region)
	}
	slices.SortFunc(v.Regions, func(a, b wire.Region) int { return compare(a.Name, b.Name) })
	if run := s.row.Run; run != nil {
		v.Run = &wire.RunState{Number: run.Number, OpenedAt: run.OpenedAt, IdleAt: run.IdleAt(), WallAt: run.WallAt,
			Limits: wire.RunLimits{Idle: run.Idle}, Agents: []wire.AgentState{}}
		if !run.WallAt.IsZero() {
			v.Run.Limits.WallClock = run.WallAt.Sub(run.OpenedAt)
		}
		for _, a := range s.agents {
			v.Run.Agents = append(v.Run.Agents, wire.AgentState{AgentDecl: a.AgentDecl, Told: a.Told, Cursor: a.Cursor,
				Pending: s.outbox[a.Name] != nil, Registered: a.Registered})
		}
		slices.SortFunc(v.Run.Agents, func(a, b wire.AgentState) int { return compare(a.Name, b.Name) })
	}
	return v
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Take returns what the decisions made since the last Take changed, and whether
// they changed anything; it gives the board its next revision. The caller must
// drop the state if the change is not committed.
func (s *State) Take() (Change, bool) {
	if !s.changed {
		return Change{}, false
	}
	s.row.Rev++
	c := s.change
	c.Row = s.row
	if run := s.row.Run; run != nil {
		// A copy: the store may keep the row while later decisions move the run on.
		copied := *run
		c.Row.Run = &copied
	}
	c.Regions = rows(s.dirty.regions, s.regions)
	c.Agents = rows(s.dirty.agents, s.agents)
	c.Outbox = rows(s.dirty.outbox, s.outbox)
	for _, name := range s.dirty.dropped {
		if s.outbox[name] == nil {
			c.DropOutbox = append(c.DropOutbox, name)
		}
	}
	s.change, s.changed = Change{}, false
	s.dirty = dirt{s.dirty.regions[:0], s.dirty.agents[:0], s.dirty.outbox[:0], s.dirty.dropped[:0]}
	clear(s.wrote)
	return c, true
}

// rows copies the named rows that are there.
func rows[R any](names []string, all map[string]*R) []R {
	if len(names) == 0 {
		return nil
	}
	out := make([]R, 0, len(names))
	for _, name := range names {
		if r := all[name]; r != nil {
			out = append(out, *r)
		}
	}
	return out
}

// Closed counts the runs that closed since the last Take.
func (s *State) Closed() int { return len(s.change.Outcomes) }

// Deleted reports whether the board was deleted since the last Take.
func (s *State) Deleted() bool { return s.change.Delete }

// Erasing reports whether content was erased since the last Take.
func (s *State) Erasing() bool { return len(s.change.Erase) > 0 }

// Touch marks the board as changed, for an area whose own rows changed with it.
func (s *State) Touch() { s.changed = true }

func (s *State) touchRegion(name string) {
	s.changed = true
	if !slices.Contains(s.dirty.regions, name) {
		s.dirty.regions = append(s.dirty.regions, name)
	}
}

func (s *State) touchAgent(name string) {
	s.changed = true
	if !slices.Contains(s.dirty.agents, name) {
		s.dirty.agents = append(s.dirty.agents, name)
	}
}

func (s *State) touchOutbox(name string) {
	s.changed = true
	if !slices.Contains(s.dirty.outbox, name) {
		s.dirty.outbox = append(s.dirty.outbox, name)
	}
}

func (s *State) dropOutbox(name string) {
	delete(s.outbox, name)
	s.changed = true
	if !slices.Contains(s.dirty.dropped, name) {
		s.dirty.dropped = append(s.dirty.dropped, name)
	}
}

// Stamp is the instant that a decision made now puts on the record.
func (s *State) Stamp(now time.Time) time.Time { return s.stamp(now) }

// stamp is the instant of a decision: never before one that the board already
// carries, even when the store's clock went back.
func (s *State) stamp(now time.Time) time.Time {
	if now.Before(s.row.Latest) {
		return s.row.Latest
	}
	return now
}

// unknown refuses a call on a board that does not exist.
func (s *State) unknown() *refusal.Refusal {
	return refusal.New(refusal.UnknownBoard, string(s.row.Ref.Board), "there is no board %q", s.row.Ref.Board).
		WithFix("create it first, or check its name with the list of boards")
}

// append puts one write on the record. It is the only place that takes a sequence
// number.
func (s *State) append(env Env, r *Region, writer, key string, content json.RawMessage, blobs []id.Digest) *Entry {
	at := s.stamp(env.Now)
	s.row.Head++
	s.row.Latest = at
	e := Entry{Entry: wire.Entry{Seq: s.row.Head, Region: r.Name, Kind: r.Kind, Writer: writer, At: at,
		Key: key, Content: content, Blobs: blobs}}
	if content != nil {
		e.Salt = env.Salt()
		e.Digest = digest(e.Salt, content)
	}
	if r.Kind == wire.Premise {
		r.Version++
		e.Version = r.Version
	}
	if r.LastWriter != writer {
		r.Other, r.LastWriter = r.Last, writer
	}
	r.Last = e.Seq
	r.Count++
	s.touchRegion(r.Name)
	s.change.Entries = append(s.change.Entries, e)
	if key != "" {
		if s.wrote == nil {
			s.wrote = map[string]int{}
		}
		s.wrote[key] = len(s.change.Entries) - 1
	}
	if run := s.row.Run; run != nil {
		run.Activity = at
	}
	s.wake(r, writer, at)
	return &s.change.Entries[len(s.change.Entries)-1]
}

// digest is what identifies content after it was erased: without the salt, which
// goes with the content, it cannot be guessed at.
func digest(salt, content []byte) id.Digest {
	var sum [sha256.Size]byte
	var short [1024]byte
	if n := len(salt) + len(content); n <= len(short) {
		copy(short[copy(short[:], salt):], content)
		sum = sha256.Sum256(short[:n])
	} else {
		h := sha256.New()
		h.Write(salt)
		h.Write(content)
		h.Sum(sum[:0])
	}
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return id.Digest(text[:])
}
