package machine

import (
	"encoding/json"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// Record is one entry to append to the board's record. The store stamps the
// instant the decision was given.
type Record struct {
	Seq    id.Seq
	Region string
	Kind   wire.Kind
	// Version is the version a premise record makes; 0 on a level.
	Version id.Version
	// Writer is the agent for a contribution and Writer for everything else.
	Writer string
	// Key is the idempotency key of a contribution, as the caller gave it.
	Key string
	// Content is absent when the record clears a premise.
	Content json.RawMessage
	Blobs   []id.Digest
}

// Entry is the record as the board would return it, without instant and digest.
func (r Record) Entry() wire.Entry {
	return wire.Entry{Seq: r.Seq, Region: r.Region, Kind: r.Kind, Version: r.Version,
		Writer: r.Writer, Key: r.Key, Content: r.Content, Blobs: r.Blobs}
}

// Step is what one decision came to. Records are to be appended in order and in
// one transaction; the Run has taken them already.
type Step struct {
	Records []Record
	// Repeated is set when a write added nothing because the same agent had already
	// appended an equal element in this state entry.
	Repeated *RepeatInfo
	// Fired and Entered are what the microsteps did, in order.
	Fired   []Fired
	Entered []Entered
	// Ended is set when the step ended the run.
	Ended *End
	// Unfinished are, when the step ended the run, the agents that still held a
	// summons. The one whose write ended the run counts as finished.
	Unfinished []string
	// Checkpoint is set when the policy asks for a checkpoint: checkpointEvery
	// transitions, or CheckpointWrites records, since the last one (M10).
	Checkpoint bool
}

// RepeatInfo names the element that a repeat is equal to.
type RepeatInfo struct {
	Seq id.Seq
}

// Fired is one transition taken.
type Fired struct {
	Seq        id.Seq
	From, To   string
	Transition int
	Guards     []GuardResult
}

// Entered is one state entry.
type Entered struct {
	Seq   id.Seq
	State string
	Entry int
}

// End is how a run ended.
type End struct {
	Seq id.Seq `json:"seq"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason"`
	// Terminal is set when a terminal state was entered; otherwise a bound or a
	// guard ended the run.
	Terminal bool   `json:"terminal"`
	State    string `json:"state"`
	Message  string `json:"message"`
	// Guards are the guards that were tried last, where guards ended the run.
	Guards []GuardResult `json:"guards,omitempty"`
}

// The limits of one step, which no document can change.
const (
	// MaxMicrosteps is how many transitions one input may cause.
	MaxMicrosteps = 64
	// GuardCostLimit is the total cost, in CEL cost units, of the guards one input
	// may cause to be evaluated.
	GuardCostLimit = 1_000_000
	// CheckpointWrites is how many records may lie between checkpoints.
	CheckpointWrites = 1000
)
