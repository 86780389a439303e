// Package timeline tells the story of a machine run: one event for everything that
// happened, read from the board's record, joined by what only the process that runs
// the agents can know (their logs, their refused calls, how they left). The same
// events make the live view, the JSON lines and the picture of a run.
//
// It reads wire entries and decides nothing. It must not know how a record is
// stored or how agents are run.
package timeline

import (
	"encoding/json"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Kind says what happened. Kinds are wire values.
type Kind string

// The kinds of event. Those with a Seq stand on the board's record; the rest were
// seen by the process that ran the agents, and are not kept.
const (
	Opened     Kind = "opened"
	Entered    Kind = "entered"
	Summoned   Kind = "summoned"
	Wrote      Kind = "wrote"
	Cleared    Kind = "cleared"
	Finished   Kind = "finished"
	Failed     Kind = "failed"
	Fired      Kind = "fired"
	Ended      Kind = "ended"
	Migrated   Kind = "migrated"
	Refused    Kind = "refused"
	Repeated   Kind = "repeated"
	Logged     Kind = "log"
	Resumed    Kind = "resumed"
	Redelivery Kind = "redelivered"
)

// Event is one thing that happened in a run.
type Event struct {
	At   time.Time `json:"at"`
	Seq  id.Seq    `json:"seq,omitempty"`
	Kind Kind      `json:"event"`
	// State is the state that was entered, left or ended in; To the one that a
	// transition leads to; Round counts the entries into a state, from 1.
	State string `json:"state,omitempty"`
	To    string `json:"to,omitempty"`
	Entry int    `json:"entry,omitempty"`
	Round int    `json:"round,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Attempt counts how often the agent was asked in a state entry.
	Attempt int    `json:"attempt,omitempty"`
	Field   string `json:"field,omitempty"`
	Key     string `json:"key,omitempty"`
	// Value is what was written.
	Value json.RawMessage `json:"value,omitempty"`
	// Guards are those that were evaluated, the false ones too.
	Guards []machine.GuardResult `json:"guards,omitempty"`
	// Met says of a finished summons whether its requirements are met.
	Met *bool `json:"met,omitempty"`
	// Reason is why a run ended or an attempt failed.
	Reason string `json:"reason,omitempty"`
	// Refusal is the answer to a call that was refused.
	Refusal *refusal.Refusal `json:"refusal,omitempty"`
	// Text is a line of an agent's log, or the part of its output that was refused.
	Text string `json:"text,omitempty"`
	// Terminal is set when a run ended in a terminal state.
	Terminal bool `json:"terminal,omitempty"`
}

// Reader turns the entries of one board, in order from the first, into events.
type Reader struct {
	rounds map[string]int
	entry  int
	state  string
}

// NewReader returns a reader at the beginning of a record.
func NewReader() *Reader { return &Reader{rounds: map[string]int{}} }

// Read returns the event that an entry stands for. ok is false for an entry that is
// no part of the story of a machine run.
func (r *Reader) Read(e wire.Entry) (event Event, ok bool) {
	event = Event{At: e.At, Seq: e.Seq}
	if e.Region == machine.JournalRegion {
		return r.journal(event, e)
	}
	event.Field, event.Agent = e.Region, e.Writer
	event.State, event.Entry, event.Round = r.state, r.entry, r.rounds[r.state]
	if e.Writer == machine.Writer {
		event.Agent = ""
		event.Kind = Cleared
		var tomb struct {
			Remove *string `json:"remove"`
		}
		switch {
		case e.Content == nil:
		case json.Unmarshal(e.Content, &tomb) == nil && tomb.Remove != nil:
			event.Key = *tomb.Remove
		default:
			event.Kind, event.Value = Wrote, e.Content
			event.Agent = machine.Writer
		}
		return event, true
	}
	event.Kind, event.Value = Wrote, e.Content
	var entry struct {
		Key   *string         `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if len(e.Content) > 0 && e.Content[0] == '{' && json.Unmarshal(e.Content, &entry) == nil && entry.Key != nil {
		event.Key, event.Value = *entry.Key, entry.Value
	}
	return event, true
}

// journal reads a record of the machine's own journal.
func (r *Reader) journal(event Event, e wire.Entry) (Event, bool) {
	j, err := machine.ParseEvent(e.Content)
	if err != nil {
		return event, false
	}
	event.State, event.Entry, event.Agent, event.Attempt = r.state, r.entry, j.Agent, j.Attempt
	event.Reason, event.Guards = j.Message, j.Guards
	switch j.Type {
	case machine.EventOpened:
		event.Kind, event.Text = Opened, j.Name
	case machine.EventMigrated:
		event.Kind, event.Text = Migrated, j.Name
	case machine.EventEntered:
		r.state, r.entry = j.State, j.Entry
		r.rounds[j.State]++
		event.Kind, event.State, event.Entry = Entered, j.State, j.Entry
	case machine.EventSent:
		event.Kind = Summoned
	case machine.EventSettled:
		event.Kind, event.Met, event.Reason = Finished, j.Met, j.Failure
		if j.Acknowledged != nil && !*j.Acknowledged {
			event.Kind = Failed
		}
	case machine.EventFired:
		event.Kind, event.State, event.To = Fired, j.From, j.To
	case machine.EventEnded:
		event.Kind, event.State = Ended, j.State
		event.Terminal = j.Reason == machine.ReasonTerminal
		event.Text = j.Reason
	default:
		return event, false
	}
	event.Round = r.rounds[event.State]
	return event, true
}
