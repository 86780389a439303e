package board

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Create declares regions and agents and opens a run with its opening values (B6).
// A board that exists without an open run takes the new regions beside those it
// has; RUN_OPEN and REGION_EXISTS refuse the rest. Nothing of a refused create
// stays.
func (s *State) Create(env Env, c wire.CreateBoard) (wire.Attached, error) {
	if s.row.Run != nil {
		_ = s.open(env) // a run whose limit has passed is in nobody's way
	}
	if err := s.creatable(c); err != nil {
		return wire.Attached{}, err
	}
	now := s.stamp(env.Now)
	if !s.found {
		s.found = true
		if s.row.Rev == 0 {
			s.row.Rev = firstRev(env)
		}
		s.row.Created, s.row.Latest = now, now
		s.change.Create = true
	}
	for _, d := range c.Regions {
		s.declare(d)
	}
	s.openRun(now, c.Limits)
	// An agent is told of the opening values, and of nothing that an earlier run left.
	head := s.row.Head
	for _, a := range c.Agents {
		s.join(now, a, head)
	}
	writer := c.Writer
	if writer == "" {
		writer = "application"
	}
	for _, o := range c.Opening {
		s.append(env, s.regions[o.Region], writer, "", o.Content, nil)
	}
	return wire.Attached{Run: s.row.Run.Number}, nil
}

// firstRev is where a new board's revisions begin: at random, so that nobody who
// holds the state of a deleted board takes it for that of its namesake.
func firstRev(env Env) int64 {
	return int64(binary.BigEndian.Uint64(env.Salt()) >> 2)
}

// creatable checks a create before anything of it is done.
func (s *State) creatable(c wire.CreateBoard) error {
	if len(c.Regions) == 0 {
		return refusal.New(refusal.InvalidRequest, "regions", "a board needs at least one region").
			WithFix("declare a level or a premise")
	}
	kinds := make(map[string]wire.Kind, len(c.Regions)+len(s.regions))
	for name, r := range s.regions {
		kinds[name] = r.Kind
	}
	for _, d := range c.Regions {
		if err := checkRegion(d); err != nil {
			return err
		}
		if s.regions[d.Name] != nil {
			return refusal.New(refusal.RegionExists, d.Name, "board %q already holds a region %q", s.row.Ref.Board, d.Name).
				WithFix("attach to the board instead of creating it")
		}
		if _, twice := kinds[d.Name]; twice {
			return refusal.New(refusal.InvalidRequest, d.Name, "region %q is declared twice", d.Name)
		}
		kinds[d.Name] = d.Kind
	}
	if s.row.Run != nil {
		return refusal.New(refusal.RunOpen, string(s.row.Ref.Board), "run %d of board %q is open", s.row.Run.Number, s.row.Ref.Board).
			WithFix("attach to the board to join the run")
	}
	if err := checkLimits(c.Limits); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, a := range c.Agents {
		if seen[a.Name] {
			return refusal.New(refusal.InvalidRequest, a.Name, "agent %q is declared twice", a.Name)
		}
		seen[a.Name] = true
		if err := checkAgent(a, kinds); err != nil {
			return err
		}
	}
	opened := map[string]bool{}
	for _, o := range c.Opening {
		switch kind, ok := kinds[o.Region]; {
		case !ok:
			return refusal.New(refusal.UnknownRegion, o.Region, "an opening value names region %q, which is not declared", o.Region)
		case kind != wire.Premise:
			return refusal.New(refusal.WrongKind, o.Region, "region %q is a level: only a premise takes an opening value", o.Region)
		case s.regions[o.Region] != nil:
			return refusal.New(refusal.RegionExists, o.Region, "premise %q is on the board already: an opening value is for a new one", o.Region)
		case opened[o.Region]:
			return refusal.New(refusal.InvalidRequest, o.Region, "premise %q is given two opening values", o.Region)
		case o.Content == nil:
			return refusal.New(refusal.InvalidRequest, o.Region, "the opening value of premise %q is missing", o.Region)
		}
		opened[o.Region] = true
	}
	return nil
}

func checkRegion(d wire.RegionDecl) error {
	if err := id.CheckName("region", d.Name); err != nil {
		return refusal.New(refusal.InvalidRequest, d.Name, "%v", err)
	}
	if d.Kind != wire.Level && d.Kind != wire.Premise {
		return refusal.New(refusal.InvalidRequest, d.Name, "region %q: kind %q is neither level nor premise", d.Name, d.Kind)
	}
	if d.Window < 0 {
		return refusal.New(refusal.InvalidRequest, d.Name, "region %q: the batch window is negative", d.Name)
	}
	return nil
}

func checkLimits(l wire.RunLimits) error {
	if l.Idle < 0 || l.WallClock < 0 {
		return refusal.New(refusal.InvalidRequest, "limits", "a run's limits cannot be negative").
			WithFix("leave a limit out to have none")
	}
	return nil
}

// maxAddress is the longest address, in bytes.
const maxAddress = 2048

// checkAgent holds a declaration against the regions it names.
func checkAgent(a wire.AgentDecl, kinds map[string]wire.Kind) error {
	if err := id.CheckName("agent", a.Name); err != nil {
		return refusal.New(refusal.InvalidRequest, a.Name, "%v", err)
	}
	if len(a.Address) > maxAddress || !utf8.ValidString(a.Address) || strings.ContainsRune(a.Address, 0) {
		return refusal.New(refusal.InvalidRequest, a.Name, "agent %q: the address is not UTF-8 text of at most %d bytes", a.Name, maxAddress)
	}
	for _, name := range a.WritesTo.Names {
		switch kind, ok := kinds[name]; {
		case !ok:
			return refusal.New(refusal.UnknownRegion, name, "agent %q: writesTo names region %q, which is not declared", a.Name, name)
		case kind != wire.Level:
			return refusal.New(refusal.WrongKind, name, "agent %q: writesTo names %q, which is a premise; it permits levels", a.Name, name)
		}
	}
	for _, name := range a.SubscribesTo.Names {
		if _, ok := kinds[name]; !ok {
			return refusal.New(refusal.UnknownRegion, name, "agent %q: subscribesTo names region %q, which is not declared", a.Name, name)
		}
	}
	return nil
}

// Declare adds one region to a board that exists, for an area that owns it.
func (s *State) Declare(d wire.RegionDecl) error {
	if err := checkRegion(d); err != nil {
		return err
	}
	if s.regions[d.Name] != nil {
		return refusal.New(refusal.RegionExists, d.Name, "board %q already holds a region %q", s.row.Ref.Board, d.Name)
	}
	s.declare(d)
	return nil
}

func (s *State) declare(d wire.RegionDecl) {
	s.regions[d.Name] = &Region{Region: wire.Region{Name: d.Name, Kind: d.Kind, Window: d.Window, Owner: d.Owner}}
	s.touchRegion(d.Name)
}

func (s *State) openRun(now time.Time, l wire.RunLimits) {
	s.row.Runs++
	run := &Run{Number: s.row.Runs, OpenedAt: now, Idle: l.Idle, Activity: now}
	if l.WallClock > 0 {
		run.WallAt = now.Add(l.WallClock)
	}
	s.row.Run = run
	s.row.Latest = now
	s.lowerDue(run.IdleAt())
	s.lowerDue(run.WallAt)
	s.changed = true
}

// Attach joins the open run, or opens one with no agents when the last has closed.
// A board that holds no region is refused UNKNOWN_BOARD.
func (s *State) Attach(env Env, a wire.AttachBoard) (wire.Attached, error) {
	if !s.found || len(s.regions) == 0 {
		return wire.Attached{}, s.unknown()
	}
	if err := checkLimits(a.Limits); err != nil {
		return wire.Attached{}, err
	}
	if s.open(env) == nil {
		return wire.Attached{Run: s.row.Run.Number, Joined: true}, nil
	}
	s.openRun(s.stamp(env.Now), a.Limits)
	return wire.Attached{Run: s.row.Run.Number}, nil
}

// Register adds an agent to the open run (B7). The agent starts up to date: it is
// told of what comes after it joined. Registering the same declaration again
// changes nothing; another one under the same name is refused AGENT_EXISTS.
func (s *State) Register(env Env, a wire.AgentDecl) (wire.AgentState, error) {
	if !s.found {
		return wire.AgentState{}, s.unknown()
	}
	if err := s.open(env); err != nil {
		return wire.AgentState{}, err
	}
	kinds := make(map[string]wire.Kind, len(s.regions))
	for name, r := range s.regions {
		kinds[name] = r.Kind
	}
	if err := checkAgent(a, kinds); err != nil {
		return wire.AgentState{}, err
	}
	if have := s.agents[a.Name]; have != nil {
		if have.Address != a.Address || !have.WritesTo.Equal(a.WritesTo) || !have.SubscribesTo.Equal(a.SubscribesTo) {
			return wire.AgentState{}, refusal.New(refusal.AgentExists, a.Name,
				"agent %q is registered on this run with another declaration", a.Name).
				WithFix("register under another name, or with the same declaration")
		}
	} else {
		now := s.stamp(env.Now)
		s.join(now, a, s.row.Head)
		s.row.Run.Activity, s.row.Latest = now, now
	}
	have := s.agents[a.Name]
	return wire.AgentState{AgentDecl: have.AgentDecl, Told: have.Told, Cursor: have.Cursor, Registered: have.Registered,
		Pending: s.outbox[a.Name] != nil}, nil
}

func (s *State) join(now time.Time, a wire.AgentDecl, at id.Seq) {
	s.agents[a.Name] = &Agent{AgentDecl: a, Told: at, Cursor: at, Registered: now}
	clear(s.wakes)
	s.touchAgent(a.Name)
}

// open reports whether the run is open at this instant, closing it first if one of
// its limits has passed: a limit holds exactly, whether or not a sweep has come by.
// When the caller holds a termination predicate, the idle limit passing closes
// nothing until the predicate was asked.
func (s *State) open(env Env) *refusal.Refusal {
	if run := s.row.Run; run != nil {
		now := s.stamp(env.Now)
		idle, wall := run.IdleAt(), run.WallAt
		switch {
		case passed(idle, now) && !env.Predicate && (wall.IsZero() || !wall.Before(idle)):
			s.close(now, wire.Settled, "", false, nil)
		case passed(wall, now):
			s.close(now, wire.WallClockExpired, "", false, nil)
		}
	}
	if s.row.Run == nil {
		r := refusal.New(refusal.RunClosed, string(s.row.Ref.Board), "the run of board %q has closed", s.row.Ref.Board).
			WithFix("attach to the board to open another run")
		if s.outcome != nil {
			r = r.With("outcome", s.outcome.Kind)
		}
		return r
	}
	return nil
}

// Open refuses RUN_CLOSED when the board has no open run at this instant; a limit
// that has passed closes it first.
func (s *State) Open(env Env) *refusal.Refusal {
	if !s.found {
		return s.unknown()
	}
	return s.open(env)
}

func passed(limit, now time.Time) bool { return !limit.IsZero() && !now.Before(limit) }

// Judgement is what a termination predicate said of a board.
type Judgement struct {
	Complete bool
	// Judged is the board's position that the predicate looked at.
	Judged id.Seq
}

// Overdue says which limit of the run has passed at now: the idle limit, the wall
// clock or neither. A caller that holds a termination predicate asks it when Idle.
func (s *State) Overdue(now time.Time) (idle, wall bool) {
	run := s.row.Run
	if run == nil {
		return false, false
	}
	now = s.stamp(now)
	return passed(run.IdleAt(), now), passed(run.WallAt, now)
}

// Expire closes the run if a limit has passed (B12). judgement is nil when the
// caller holds no termination predicate. A predicate that does not find the result
// complete starts the idle limit anew; one that judged an older position decides
// nothing. The outcome is nil when the run stays open.
func (s *State) Expire(env Env, judgement *Judgement) (*wire.Outcome, error) {
	if !s.found {
		return nil, s.unknown()
	}
	run := s.row.Run
	if run == nil {
		s.settleDue()
		return nil, nil
	}
	now := s.stamp(env.Now)
	idle, wall := passed(run.IdleAt(), now), passed(run.WallAt, now)
	wallFirst := wall && (run.Idle <= 0 || run.WallAt.Before(run.IdleAt()))
	switch {
	case idle && !wallFirst && judgement == nil:
		return s.close(now, wire.Settled, "", false, nil), nil
	case idle && !wallFirst && judgement.Judged == s.row.Head && judgement.Complete:
		return s.close(now, wire.Settled, "", true, nil), nil
	case wall:
		return s.close(now, wire.WallClockExpired, "", false, nil), nil
	case idle && judgement.Judged == s.row.Head:
		// Under a clock that goes back, what comes next may not be older than this.
		run.Activity, s.row.Latest = now, now
		s.changed = true
	}
	s.settleDue()
	return nil, nil
}

// Abort ends the open run because its caller wants it ended. It names no agents.
func (s *State) Abort(env Env, reason string) (*wire.Outcome, error) {
	if !s.found {
		return nil, s.unknown()
	}
	if err := s.open(env); err != nil {
		return nil, err
	}
	return s.close(s.stamp(env.Now), wire.Aborted, reason, false, nil), nil
}

// Finish closes the open run for an area that judged its result: Settled and
// complete, or Aborted with a reason. unfinished names agents that the area was
// still waiting for, beside those of the board.
func (s *State) Finish(env Env, kind wire.OutcomeKind, reason string, unfinished []string) *wire.Outcome {
	return s.close(s.stamp(env.Now), kind, reason, kind == wire.Settled, unfinished)
}

// close ends the run: the outcome joins the record, the run's rows go.
func (s *State) close(now time.Time, kind wire.OutcomeKind, reason string, complete bool, unfinished []string) *wire.Outcome {
	run := s.row.Run
	o := &wire.Outcome{Run: run.Number, Kind: kind, Reason: reason, Complete: complete,
		OpenedAt: run.OpenedAt, ClosedAt: now, Seq: s.row.Head}
	if kind != wire.Aborted {
		for name, a := range s.agents {
			if a.Told > a.Cursor || s.outbox[name] != nil {
				unfinished = append(unfinished, name)
			}
		}
		slices.Sort(unfinished)
		o.Unfinished = slices.Compact(unfinished)
	}
	s.outcome = o
	s.row.Run = nil
	s.row.Due = time.Time{}
	s.row.Latest = now
	clear(s.agents)
	clear(s.wakes)
	clear(s.outbox)
	// What this transaction did to rows that now go need not be written.
	s.dirty.agents, s.dirty.outbox, s.dirty.dropped = nil, nil, nil
	s.change.DropRun = true
	s.change.Outcomes = append(s.change.Outcomes, *o)
	s.changed = true
	return o
}

// Outcome is that of the latest closed run, or nil.
func (s *State) Outcome() *wire.Outcome { return s.outcome }

// Delete removes the board with everything on it.
func (s *State) Delete() error {
	if !s.found {
		return s.unknown()
	}
	created, stored := s.change.Create, s.change.Delete
	row := s.row
	*s = State{row: Row{Ref: row.Ref}, regions: map[string]*Region{}, agents: map[string]*Agent{}, outbox: map[string]*Outbox{}}
	if created && !stored {
		// It was made in this very transaction: there is nothing to remove.
		return nil
	}
	s.row.Rev = row.Rev
	s.change.Delete = true
	s.changed = true
	return nil
}
