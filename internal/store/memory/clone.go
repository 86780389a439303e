package memory

import (
	"bytes"
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/wire"
)

// micro is an instant as every store keeps it: UTC, whole microseconds, zero
// stays zero.
func micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func cloneRow(r board.Row) board.Row {
	if r.Run != nil {
		run := *r.Run
		r.Run = &run
	}
	return r
}

// keepRow is cloneRow with the instants as they are kept.
func keepRow(r board.Row) board.Row {
	r = cloneRow(r)
	r.Created, r.Latest, r.Due = micro(r.Created), micro(r.Latest), micro(r.Due)
	if r.Run != nil {
		r.Run.OpenedAt, r.Run.Activity, r.Run.WallAt = micro(r.Run.OpenedAt), micro(r.Run.Activity), micro(r.Run.WallAt)
	}
	return r
}

// readEntry is cloneEntry with bytes of the reader's own: what a reader does to them
// does not reach the record.
func readEntry(e *board.Entry) board.Entry {
	c := cloneEntry(e)
	c.Content, c.Salt = bytes.Clone(c.Content), bytes.Clone(c.Salt)
	return c
}

func cloneEntry(e *board.Entry) board.Entry {
	c := *e
	if len(c.Blobs) > 0 {
		c.Blobs = slices.Clone(c.Blobs)
	}
	if c.Erased != nil {
		erased := *c.Erased
		c.Erased = &erased
	}
	return c
}

// keepEntry is cloneEntry with what the store keeps: no empty slices, no view of
// a reader.
func keepEntry(e *board.Entry) board.Entry {
	c := cloneEntry(e)
	c.At = micro(c.At)
	c.Hidden = false
	if len(c.Blobs) == 0 {
		c.Blobs = nil
	}
	if len(c.Content) == 0 {
		c.Content = nil
	}
	if len(c.Salt) == 0 {
		c.Salt = nil
	}
	if c.Erased != nil {
		c.Erased.At = micro(c.Erased.At)
	}
	return c
}

func cloneNames(n wire.Names) wire.Names {
	return wire.Names{Set: n.Set, Names: cloneStrings(n.Names)}
}

func cloneStrings(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return slices.Clone(s)
}

func cloneAgent(a board.Agent) board.Agent {
	a.WritesTo, a.SubscribesTo = cloneNames(a.WritesTo), cloneNames(a.SubscribesTo)
	a.Registered = micro(a.Registered)
	return a
}

func cloneOutbox(o board.Outbox) board.Outbox {
	o.Regions = cloneStrings(o.Regions)
	o.Due, o.Lease = micro(o.Due), micro(o.Lease)
	return o
}

func cloneOutcome(o *wire.Outcome) *wire.Outcome {
	if o == nil {
		return nil
	}
	c := *o
	c.Unfinished = cloneStrings(c.Unfinished)
	c.OpenedAt, c.ClosedAt = micro(c.OpenedAt), micro(c.ClosedAt)
	return &c
}

// cloneChange copies all of a change that is not immutable, into the space given
// where that is enough.
func cloneChange(c *board.Change, regions []board.Region, entries []board.Entry) board.Change {
	k := *c
	k.Row = keepRow(c.Row)
	k.Regions = append(regions[:0], c.Regions...)
	k.Agents = slices.Clone(c.Agents)
	for i := range k.Agents {
		k.Agents[i] = cloneAgent(k.Agents[i])
	}
	k.Outbox = slices.Clone(c.Outbox)
	for i := range k.Outbox {
		k.Outbox[i] = cloneOutbox(k.Outbox[i])
	}
	k.DropOutbox = cloneStrings(c.DropOutbox)
	k.Entries = slices.Grow(entries[:0], len(c.Entries))
	for i := range c.Entries {
		k.Entries = append(k.Entries, keepEntry(&c.Entries[i]))
	}
	k.Erase = slices.Clone(c.Erase)
	for i := range k.Erase {
		k.Erase[i].At = micro(k.Erase[i].At)
	}
	k.Outcomes = slices.Clone(c.Outcomes)
	for i := range k.Outcomes {
		k.Outcomes[i] = *cloneOutcome(&k.Outcomes[i])
	}
	return k
}

func cloneCheckpoint(c *store.Checkpoint) *store.Checkpoint {
	if c == nil {
		return nil
	}
	return &store.Checkpoint{Seq: c.Seq, Body: slices.Clone(c.Body)}
}
