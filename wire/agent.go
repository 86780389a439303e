package wire

import (
	"encoding/json"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// Protocol is the version of the agent protocol (docs/agents.md).
const Protocol = 1

// Requirement is one thing a summons asks its agent for.
type Requirement struct {
	Field string `json:"field"`
	// Type is string, number, integer, boolean, enum, list, map or blob; Of is the
	// scalar type of a list's or map's values; Values are an enum's.
	Type   string   `json:"type"`
	Of     string   `json:"of,omitempty"`
	Values []string `json:"values,omitempty"`
	// Required is false for a contribution that the state does not wait for.
	Required bool `json:"required"`
	// Met says whether the field already holds what is asked for.
	Met    bool   `json:"met"`
	Prompt string `json:"prompt,omitempty"`
	// Form is the JSON schema of a value that answers the requirement.
	Form json.RawMessage `json:"form,omitempty"`
}

// Tool describes one call in the form that language-model interfaces accept (B21).
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Summons asks one agent to act in one state of a machine (M8).
type Summons struct {
	// Type is "summons".
	Type     string   `json:"type"`
	Protocol int      `json:"protocol"`
	Board    id.Board `json:"board"`
	Machine  string   `json:"machine"`
	State    string   `json:"state"`
	// Entry counts the state entries of the run, from 1.
	Entry int    `json:"entry"`
	Agent string `json:"agent"`
	// Attempt counts how often the agent was asked in this entry, from 1. A summons
	// sent again because its holder died keeps its attempt.
	Attempt int `json:"attempt"`
	// Generation is the fencing number: it grows each time the summons is sent, and
	// only the newest may write.
	Generation int64 `json:"generation"`
	// Deadline is when the answer is due.
	Deadline time.Time `json:"deadline"`
	// Position is the board's head when the summons was sent.
	Position     id.Seq        `json:"position"`
	Objective    string        `json:"objective"`
	Requirements []Requirement `json:"requirements"`
	// Context is the capped context block (M9).
	Context string `json:"context"`
	Tools   []Tool `json:"tools"`
}

// UpdateContext writes one context field of a machine (M3): it replaces a scalar,
// appends to a list, or sets the writer's own entry of a map.
type UpdateContext struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
	// Key names the map entry to write. Leave it out: the runtime keys the entry by
	// the writer, and refuses another key on a field that requirements gather.
	Key string `json:"key,omitempty"`
}

// Updated is the answer to UpdateContext. Context and Position are as they are
// after the write and every transition it caused.
type Updated struct {
	Seq      id.Seq `json:"seq"`
	Repeated bool   `json:"repeated,omitempty"`
	Differs  bool   `json:"differs,omitempty"`
	// State is the machine's state now; it may have moved on.
	State string `json:"state"`
	// Live says whether this summons may still write.
	Live     bool   `json:"live"`
	Position id.Seq `json:"position"`
	Context  string `json:"context"`
}

// FieldEntry is one element of a list, one entry of a map, or a scalar's value.
type FieldEntry struct {
	Seq    id.Seq    `json:"seq"`
	Writer string    `json:"writer"`
	At     time.Time `json:"at"`
	// Key is a map entry's key.
	Key   string          `json:"key,omitempty"`
	Value json.RawMessage `json:"value"`
}

// Field is a context field in full, uncapped.
type Field struct {
	Field string `json:"field"`
	Type  string `json:"type"`
	Of    string `json:"of,omitempty"`
	// Value is the scalar, the array or the object; null when the field is absent.
	Value    json.RawMessage `json:"value"`
	Entries  []FieldEntry    `json:"entries"`
	Position id.Seq          `json:"position"`
}

// ReadContext asks for one context field in full.
type ReadContext struct {
	Field string `json:"field"`
}

// ReadRegion asks for one region: a page of a level, or a premise.
type ReadRegion struct {
	Region string `json:"region" jsonschema:"The name of the region."`
	Page
}

// Call is one line an agent program writes: what it wants done.
type Call struct {
	// ID is echoed in the result; any JSON string or number.
	ID   json.RawMessage `json:"id,omitempty"`
	Call string          `json:"call"`
	With json.RawMessage `json:"with,omitempty"`
}

// CallResult is one line an agent program reads back: what became of a call, with
// the context and position as they are now.
type CallResult struct {
	ID       json.RawMessage  `json:"id,omitempty"`
	OK       bool             `json:"ok"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Refusal  *refusal.Refusal `json:"refusal,omitempty"`
	Position id.Seq           `json:"position"`
	Context  string           `json:"context"`
	// Live is false once the summons may no longer write.
	Live bool `json:"live"`
}

// Standing is where a summoned agent stands: the context block and the position
// as they are now.
type Standing struct {
	State    string `json:"state"`
	Position id.Seq `json:"position"`
	Context  string `json:"context"`
	// Live is false once the summons may no longer write.
	Live bool `json:"live"`
}
