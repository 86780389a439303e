package board_test

import (
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// model is the board's rules told a second time, for comparison: it keeps the list
// of what was written and looks everything up in it.
type model struct {
	exists  bool
	regions map[string]wire.RegionDecl
	writes  []written
	latest  time.Time
	runs    int64
	run     *modelRun
	outcome *wire.Outcome
}

type written struct {
	region, writer, key, content string
	expect                       id.Version
	at                           time.Time
	erased                       bool
}

type modelRun struct {
	opened, activity time.Time
	idle, wall       time.Duration
	agents           map[string]*modelAgent
}

type modelAgent struct {
	wire.AgentDecl
	told, cursor id.Seq
	due          time.Time // of what is pending
	flight       *flight
}

type flight struct {
	claim string
	from  id.Seq
	lease time.Time
	tries int
}

// stamp is never before an instant that the board has seen.
func (m *model) stamp(now time.Time) time.Time {
	if now.Before(m.latest) {
		return m.latest
	}
	return now
}

func (m *model) head() id.Seq { return id.Seq(len(m.writes)) }

// in counts a region's writes and finds the last.
func (m *model) in(region string) (count int64, last id.Seq) {
	for i, w := range m.writes {
		if w.region == region {
			count, last = count+1, id.Seq(i+1)
		}
	}
	return count, last
}

func (m *model) version(region string) id.Version {
	count, _ := m.in(region)
	return id.Version(count)
}

// settle closes the run if a limit has passed.
func (m *model) settle(now time.Time) {
	if m.run == nil {
		return
	}
	now = m.stamp(now)
	idle, wall := m.run.activity.Add(m.run.idle), m.run.opened.Add(m.run.wall)
	idles, walls := m.run.idle > 0 && !now.Before(idle), m.run.wall > 0 && !now.Before(wall)
	switch {
	case idles && (m.run.wall == 0 || !wall.Before(idle)):
		m.close(now, wire.Settled)
	case walls:
		m.close(now, wire.WallClockExpired)
	}
}

func (m *model) close(now time.Time, kind wire.OutcomeKind) {
	o := &wire.Outcome{Run: m.runs, Kind: kind, Seq: m.head(), OpenedAt: m.run.opened, ClosedAt: now}
	for name, a := range m.run.agents {
		if kind != wire.Aborted && (a.told > a.cursor || !a.due.IsZero() || a.flight != nil) {
			o.Unfinished = append(o.Unfinished, name)
		}
	}
	slices.Sort(o.Unfinished)
	m.outcome, m.run, m.latest = o, nil, now
}

func (m *model) create(now time.Time, c wire.CreateBoard) refusal.Code {
	m.settle(now)
	for _, r := range c.Regions {
		if _, ok := m.regions[r.Name]; ok {
			return refusal.RegionExists
		}
	}
	if m.run != nil {
		return refusal.RunOpen
	}
	if !m.exists {
		*m = model{exists: true, regions: map[string]wire.RegionDecl{}, latest: now}
	}
	for _, r := range c.Regions {
		m.regions[r.Name] = r
	}
	m.open(now, c.Limits)
	for _, a := range c.Agents {
		m.run.agents[a.Name] = &modelAgent{AgentDecl: a}
	}
	for _, o := range c.Opening {
		m.append(now, written{region: o.Region, writer: "application", content: string(o.Content)})
	}
	return ""
}

func (m *model) open(now time.Time, l wire.RunLimits) {
	now = m.stamp(now)
	m.runs++
	m.latest = now
	m.run = &modelRun{opened: now, activity: now, idle: l.Idle, wall: l.WallClock, agents: map[string]*modelAgent{}}
}

func (m *model) attach(now time.Time, l wire.RunLimits) (joined bool, code refusal.Code) {
	if !m.exists {
		return false, refusal.UnknownBoard
	}
	if m.settle(now); m.run != nil {
		return true, ""
	}
	m.open(now, l)
	return false, ""
}

func (m *model) append(now time.Time, w written) {
	w.at = m.stamp(now)
	m.latest, m.run.activity = w.at, w.at
	m.writes = append(m.writes, w)
	due := w.at.Add(m.regions[w.region].Window)
	for name, a := range m.run.agents {
		if name != w.writer && m.wakes(a, w.region) && (a.due.IsZero() || due.Before(a.due)) {
			a.due = due
		}
	}
}

func (m *model) wakes(a *modelAgent, region string) bool {
	if a.SubscribesTo.Set {
		return slices.Contains(a.SubscribesTo.Names, region)
	}
	return m.regions[region].Kind == wire.Premise
}

// write answers what a write comes to in one word, with its position.
func (m *model) write(now time.Time, kind wire.Kind, w written, admitted bool) (word string, seq id.Seq) {
	if !m.exists {
		return string(refusal.UnknownBoard), 0
	}
	for i, first := range m.writes {
		if w.key == "" || first.key != w.key {
			continue
		}
		if first.region != w.region {
			return string(refusal.KeyReused), 0
		}
		expect := w.expect
		if kind == wire.Level {
			expect = first.expect
		}
		if !first.erased && (m.regions[w.region].Kind != kind || first.content != w.content || first.expect != expect) {
			return "repeat that differs", id.Seq(i + 1)
		}
		return "repeat", id.Seq(i + 1)
	}
	r, declared := m.regions[w.region]
	switch {
	case !declared:
		return string(refusal.UnknownRegion), 0
	case r.Kind != kind:
		return string(refusal.WrongKind), 0
	}
	if m.settle(now); m.run == nil {
		return string(refusal.RunClosed), 0
	}
	if a := m.run.agents[w.writer]; a != nil && kind == wire.Level && a.WritesTo.Set && !slices.Contains(a.WritesTo.Names, w.region) {
		return string(refusal.NotPermitted), 0
	}
	if !admitted {
		return string(refusal.Admission), 0
	}
	if kind == wire.Premise && w.expect != m.version(w.region) {
		return string(refusal.Conflict), 0
	}
	m.append(now, w)
	return "written", m.head()
}

func (m *model) register(now time.Time, a wire.AgentDecl) refusal.Code {
	if !m.exists {
		return refusal.UnknownBoard
	}
	if m.settle(now); m.run == nil {
		return refusal.RunClosed
	}
	if have := m.run.agents[a.Name]; have != nil {
		if !have.WritesTo.Equal(a.WritesTo) || !have.SubscribesTo.Equal(a.SubscribesTo) {
			return refusal.AgentExists
		}
		return ""
	}
	m.latest = m.stamp(now)
	m.run.activity = m.latest
	m.run.agents[a.Name] = &modelAgent{AgentDecl: a, told: m.head(), cursor: m.head()}
	return ""
}

func (m *model) acknowledge(now time.Time, who string, through id.Seq) refusal.Code {
	if !m.exists {
		return refusal.UnknownBoard
	}
	if m.settle(now); m.run == nil {
		return refusal.RunClosed
	}
	a := m.run.agents[who]
	switch {
	case a == nil:
		return refusal.UnknownAgent
	case through > a.told || through < 1:
		return refusal.NeverNotified
	case through > a.cursor:
		a.cursor = through
		m.latest = m.stamp(now)
		m.run.activity = m.latest
	}
	return ""
}

// claim takes what is due. names draws the claims' names, in the order of agents.
func (m *model) claim(now time.Time, lease time.Duration, draw func() string) (out []board.Claimed) {
	if m.run == nil {
		return nil
	}
	now = m.stamp(now)
	var names []string
	for name := range m.run.agents {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		a := m.run.agents[name]
		switch {
		case a.flight != nil && now.Before(a.flight.lease), a.flight == nil && (a.due.IsZero() || now.Before(a.due)):
			continue
		case a.flight == nil:
			a.flight = &flight{from: a.told + 1}
		}
		var regions []string
		for i, w := range m.writes {
			if id.Seq(i+1) >= a.flight.from && w.writer != name && m.wakes(a, w.region) && !slices.Contains(regions, w.region) {
				regions = append(regions, w.region)
			}
		}
		a.due = time.Time{}
		if len(regions) == 0 {
			a.flight = nil
			continue
		}
		slices.Sort(regions)
		a.flight.claim, a.flight.lease, a.told = draw(), now.Add(lease), m.head()
		a.flight.tries++
		out = append(out, board.Claimed{Claim: a.flight.claim, Tries: a.flight.tries,
			Notification: wire.Notification{Board: "b", Agent: name, From: a.flight.from, To: m.head(), Regions: regions}})
	}
	return out
}

func (m *model) settled(now time.Time, s board.Settlement) {
	if m.run == nil || m.run.agents[s.Agent] == nil {
		return
	}
	a := m.run.agents[s.Agent]
	switch {
	case a.flight == nil || a.flight.claim != s.Claim:
	case s.RetryIn > 0:
		a.flight.lease = m.stamp(now).Add(s.RetryIn)
	default:
		a.flight = nil
	}
}

func (m *model) expire(now time.Time, j *board.Judgement) {
	if m.run == nil {
		return
	}
	if j == nil {
		m.settle(now)
		return
	}
	now = m.stamp(now)
	idle, wall := m.run.activity.Add(m.run.idle), m.run.opened.Add(m.run.wall)
	idles, walls := m.run.idle > 0 && !now.Before(idle), m.run.wall > 0 && !now.Before(wall)
	judged := idles && !(walls && wall.Before(idle)) && j.Judged == m.head()
	switch {
	case judged && j.Complete:
		m.close(now, wire.Settled)
		m.outcome.Complete = true
	case walls:
		m.close(now, wire.WallClockExpired)
	case idles && j.Judged == m.head():
		m.run.activity, m.latest = now, now
	}
}

// view is the board as a person would be shown it.
func (m *model) view() wire.BoardState {
	v := wire.BoardState{Board: "b", Head: m.head(), Latest: m.latest, Runs: m.runs, Outcome: m.outcome}
	for name, r := range m.regions {
		reg := wire.Region{Name: name, Kind: r.Kind, Window: r.Window}
		reg.Count, reg.Last = m.in(name)
		if r.Kind == wire.Premise {
			reg.Version = id.Version(reg.Count)
		}
		v.Regions = append(v.Regions, reg)
	}
	slices.SortFunc(v.Regions, func(a, b wire.Region) int { return compare(a.Name, b.Name) })
	if m.run == nil {
		return v
	}
	v.Run = &wire.RunState{Number: m.runs, OpenedAt: m.run.opened, Limits: wire.RunLimits{Idle: m.run.idle, WallClock: m.run.wall}, Agents: []wire.AgentState{}}
	if m.run.idle > 0 {
		v.Run.IdleAt = m.run.activity.Add(m.run.idle)
	}
	if m.run.wall > 0 {
		v.Run.WallAt = m.run.opened.Add(m.run.wall)
	}
	for _, a := range m.run.agents {
		v.Run.Agents = append(v.Run.Agents, wire.AgentState{AgentDecl: a.AgentDecl, Told: a.told, Cursor: a.cursor, Pending: !a.due.IsZero() || a.flight != nil})
	}
	slices.SortFunc(v.Run.Agents, func(a, b wire.AgentState) int { return compare(a.Name, b.Name) })
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
