package wire

import (
	"encoding/json"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// Kind is the kind of a region.
type Kind string

// The two kinds of region (B2).
const (
	// Level accumulates: each write adds a contribution, nothing stored changes.
	Level Kind = "level"
	// Premise holds one current value under a version.
	Premise Kind = "premise"
)

// Region describes one region of a board as it stands.
type Region struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Window is how long a change waits before the agents it wakes are told.
	// In nanoseconds on the wire.
	Window time.Duration `json:"window,omitempty"`
	// Owner is the area that alone may write the region ("machine"), or empty.
	Owner string `json:"owner,omitempty"`
	// Last is the sequence number of the region's latest write, 0 when it has none.
	Last id.Seq `json:"last"`
	// Version is a premise's current version; always 0 on a level.
	Version id.Version `json:"version,omitempty"`
	// Count is the number of writes the region has taken.
	Count int64 `json:"count"`
}

// Erasure is what stays where content was erased.
type Erasure struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Entry is one write on the record: a contribution to a level or a value of a
// premise.
type Entry struct {
	Seq    id.Seq `json:"seq"`
	Region string `json:"region"`
	Kind   Kind   `json:"kind"`
	// Version is the version a premise write made; 0 on a level write.
	Version id.Version `json:"version,omitempty"`
	// Writer and At are absent on records that predate them.
	Writer string    `json:"writer,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Key is the idempotency key the write was sent with.
	Key string `json:"key,omitempty"`
	// Content is byte for byte what was written. It is absent when the write
	// cleared a premise, when it was erased, and when it is hidden from the reader.
	Content json.RawMessage `json:"content,omitempty"`
	// Digest is the SHA-256 of the entry's salt followed by its content, in
	// hexadecimal. It survives erasure; the salt does not.
	Digest id.Digest `json:"digest,omitempty"`
	// Blobs are the content-addressed values the content refers to.
	Blobs []id.Digest `json:"blobs,omitempty"`
	// Hidden is set when the reader may see the position but not the content.
	Hidden bool `json:"hidden,omitempty"`
	// Erased is set when the content was erased.
	Erased *Erasure `json:"erased,omitempty"`
}

// LevelWrite asks for a contribution to a level.
type LevelWrite struct {
	Region  string          `json:"region" jsonschema:"The level to write to."`
	Content json.RawMessage `json:"content" jsonschema:"The contribution: any JSON value."`
	// Key is the idempotency key: the store writes it once (B4).
	Key string `json:"key,omitempty" jsonschema:"An idempotency key: a write with a key that was written before adds nothing."`
	// Blobs names content-addressed values to keep as long as the entry.
	Blobs []id.Digest `json:"blobs,omitempty" jsonschema:"Digests of stored values that the content refers to."`
	// Attempt is reserved for the custody of the work that the write belongs to.
	Attempt string `json:"attempt,omitempty" jsonschema:"Reserved for the custody of the work that the write belongs to."`
}

// PremiseWrite asks for a new value of a premise.
type PremiseWrite struct {
	Region string `json:"region" jsonschema:"The premise to write."`
	// Expect is the version that the write replaces; 0 for a premise that never
	// had a value.
	Expect id.Version `json:"expect" jsonschema:"The version that the write replaces; 0 for a premise that never had a value."`
	// Content is the new value; absent, the write clears the premise, which is a
	// version like any other.
	Content json.RawMessage `json:"content,omitempty" jsonschema:"The new value: any JSON value. Leave it out to clear the premise."`
	Key     string          `json:"key,omitempty" jsonschema:"An idempotency key: a write with a key that was written before adds nothing."`
	Blobs   []id.Digest     `json:"blobs,omitempty" jsonschema:"Digests of stored values that the content refers to."`
	Attempt string          `json:"attempt,omitempty" jsonschema:"Reserved for the custody of the work that the write belongs to."`
}

// Acknowledge says that an agent stopped working on what it was told of up to and
// including position Through: the end of a notification's range.
type Acknowledge struct {
	Through id.Seq `json:"through" jsonschema:"The end of the range of the notification that you stopped working on."`
	Attempt string `json:"attempt,omitempty" jsonschema:"Reserved for the custody of the work."`
}

// Written is what a write that reached the board produced.
type Written struct {
	Seq id.Seq `json:"seq"`
	// Version is the version a premise write made; 0 on a level write.
	Version id.Version `json:"version,omitempty"`
	At      time.Time  `json:"at,omitzero"`
	// Repeated is set when the key had been written before: nothing was added and
	// the rest describes the first write.
	Repeated bool `json:"repeated,omitempty"`
	// Differs is set on a repeat whose content or expected version is not what the
	// first write carried.
	Differs bool `json:"differs,omitempty"`
}

// Conflict is the answer to a premise write that expected another version. It
// changed nothing and took no sequence number.
type Conflict struct {
	Expected id.Version `json:"expected"`
	Current  id.Version `json:"current"`
}

// Rejection is a write that was refused before it reached the board: cause
// ADMISSION, NOT_PERMITTED or RUN_CLOSED, and no fourth (B5).
type Rejection struct {
	Cause  refusal.Code `json:"cause"`
	Reason string       `json:"reason,omitempty"`
	// Outcome is set with RUN_CLOSED: how the run ended.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Judged is set with ADMISSION: the board position that the rule looked at.
	Judged id.Seq `json:"judged,omitempty"`
}

// Result is what a write came to: exactly one field is set.
type Result struct {
	Written   *Written   `json:"written,omitempty"`
	Conflict  *Conflict  `json:"conflict,omitempty"`
	Rejection *Rejection `json:"rejection,omitempty"`
}

// Refusal returns the conflict or rejection as a refusal, or nil when the write
// reached the board.
func (r Result) Refusal() *refusal.Refusal {
	switch {
	case r.Conflict != nil:
		return refusal.New(refusal.Conflict, "", "the write expected version %d, the premise is at version %d",
			r.Conflict.Expected, r.Conflict.Current).
			WithFix("read the premise again and decide on its current value").
			With("current", r.Conflict.Current)
	case r.Rejection != nil:
		ref := refusal.New(r.Rejection.Cause, "", "%s", r.Rejection.Reason)
		if r.Rejection.Outcome != nil {
			ref = ref.With("outcome", r.Rejection.Outcome)
		}
		return ref
	}
	return nil
}

// PremiseState is a premise as it stands.
type PremiseState struct {
	Region  string     `json:"region"`
	Version id.Version `json:"version"`
	// Value is the current content; absent when the premise has none.
	Value json.RawMessage `json:"value,omitempty"`
	// Seq, Writer and At are those of the write that made the version.
	Seq    id.Seq    `json:"seq,omitempty"`
	Writer string    `json:"writer,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Erased *Erasure  `json:"erased,omitempty"`
}

// Page limits a read. Cursor is opaque: it is the Next of the page before.
type Page struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"Where to go on: next of the page before. Leave it out to begin."`
	// Limit is the most entries a page holds; 0 means DefaultPage, more than
	// MaxPage means MaxPage.
	Limit int `json:"limit,omitempty" jsonschema:"The most entries to return: 100 when left out, at most 1000."`
}

// The sizes of a page of entries.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Entries is one page of entries in order of sequence number.
type Entries struct {
	Entries []Entry `json:"entries"`
	// Next continues after the last entry of this page. It is set on every page,
	// so that a reader at the end of a board can come back with it for news.
	Next string `json:"next"`
	// More is set when entries were left for the next page.
	More bool `json:"more"`
	// Head is the board's position when the page was read.
	Head id.Seq `json:"head"`
}

// Notification tells one agent that it is out of date. It carries no values (B8).
type Notification struct {
	Board id.Board `json:"board"`
	Agent string   `json:"agent"`
	// From and To are the first and last sequence number of the range.
	From id.Seq `json:"from"`
	To   id.Seq `json:"to"`
	// Regions are those of the agent's subscription that somebody else changed
	// inside the range, sorted by name.
	Regions []string `json:"regions"`
}

// OutcomeKind says how a run ended.
type OutcomeKind string

// The three outcomes of a run (B12).
const (
	// Settled: nothing happened for the idle limit, or the result was judged complete.
	Settled OutcomeKind = "settled"
	// WallClockExpired: the longest permitted time passed.
	WallClockExpired OutcomeKind = "wall_clock_expired"
	// Aborted: somebody ended it.
	Aborted OutcomeKind = "aborted"
)

// Outcome is how a run ended. It belongs to the record and outlives the run.
type Outcome struct {
	Run  int64       `json:"run"`
	Kind OutcomeKind `json:"kind"`
	// Reason is the aborter's reason or the bound that was reached.
	Reason string `json:"reason,omitempty"`
	// Complete is set when the termination predicate judged the result complete.
	Complete bool `json:"complete,omitempty"`
	// Unfinished names the agents that were still to be told something or had not
	// answered; an aborted run names none.
	Unfinished []string  `json:"unfinished,omitempty"`
	OpenedAt   time.Time `json:"openedAt"`
	ClosedAt   time.Time `json:"closedAt"`
	// Seq is the board's position when the run closed.
	Seq id.Seq `json:"seq"`
}
