package board

import (
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// Row is a board's own row. Instants are UTC with microsecond precision, as every
// store can keep them.
type Row struct {
	Ref id.Ref
	// Rev grows by one with every transaction that changed anything of the board. It
	// begins at a random number, so that it also tells a board from one of the same
	// name that was deleted before.
	Rev int64
	// Head is the sequence number of the latest write; 0 on an empty board.
	Head id.Seq
	// Created is when the board was made.
	Created time.Time
	// Latest is the newest instant stamped on the board; instants never decrease.
	Latest time.Time
	// Runs counts the runs the board has had.
	Runs int64
	// Run is the open run, or nil.
	Run *Run
	// Due is a lower bound on the next instant at which a sweep may have something
	// to do here; zero means never. It is lowered at once and raised lazily, so that
	// an ordinary write does not touch the index on it.
	Due time.Time
}

// Run is what belongs to one run and is removed when it closes, besides its
// agents and their outbox rows.
type Run struct {
	Number   int64
	OpenedAt time.Time
	// Idle is how long nothing may happen before the run closes; 0 means no limit.
	Idle time.Duration
	// Activity is the latest write, registration or acknowledgment; the idle limit
	// counts from here.
	Activity time.Time
	// WallAt is when the run closes whatever else is true; zero means never.
	WallAt time.Time
}

// IdleAt is when the idle limit passes, or zero when the run has none.
func (r *Run) IdleAt() time.Time {
	if r == nil || r.Idle <= 0 {
		return time.Time{}
	}
	return r.Activity.Add(r.Idle)
}

// Closes is when the earlier of the run's limits passes, as it stands, or zero when
// it has none.
func (r *Run) Closes() time.Time {
	idle := r.IdleAt()
	if r == nil || r.WallAt.IsZero() || !idle.IsZero() && idle.Before(r.WallAt) {
		return idle
	}
	return r.WallAt
}

// Region is a region's row: what the world sees of it, and who wrote last.
type Region struct {
	wire.Region
	// LastWriter wrote the region's latest entry, and Other is the sequence number
	// of the latest entry by anybody else. Together they answer in constant time
	// when a region was last changed by somebody other than a given agent.
	LastWriter string
	Other      id.Seq
}

// changedFor is the latest sequence number at which somebody other than agent
// wrote the region, 0 if nobody did.
func (r *Region) changedFor(agent string) id.Seq {
	if r.LastWriter != agent {
		return r.Last
	}
	return r.Other
}

// Agent is an agent's row on the run (B7).
type Agent struct {
	wire.AgentDecl
	// Told is the end of the newest range the agent was told of, and Cursor the last
	// it acknowledged.
	Told   id.Seq
	Cursor id.Seq
	// Registered is when the agent joined the run.
	Registered time.Time
}

// wakes reports whether a write into the region wakes the agent.
func (a *Agent) wakes(r *Region) bool {
	if a.SubscribesTo.Set {
		return a.SubscribesTo.Has(r.Name)
	}
	return r.Kind == wire.Premise
}

// Outbox is the intent to notify one agent (B10). At most one row exists per
// agent. Its pending half is set by a write; its claim is made by a relay and
// ended by settling it. The row goes when neither is left.
type Outbox struct {
	Agent string
	// Due is when the pending change is to be sent; zero when nothing is pending.
	Due time.Time
	// Claim names the relay's claim on what is in flight; empty when nothing is.
	Claim string
	// From, To and Regions are the range in flight.
	From    id.Seq
	To      id.Seq
	Regions []string
	// Lease is when the claim lapses and the range is sent again.
	Lease time.Time
	// Tries counts how often the range was claimed.
	Tries int
}

// Entry is one write on the record with the salt of its digest. Salt and content
// go together when the content is erased.
type Entry struct {
	wire.Entry
	Salt []byte
}

// Blob is a content-addressed value.
type Blob struct {
	Digest  id.Digest
	Content []byte
}
