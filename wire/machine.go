package wire

import "github.com/slate-agents/slate/id"

// Abort asks to end a board's run.
type Abort struct {
	Reason string `json:"reason" jsonschema:"Why the run is ended."`
}

// Erased is how many entries were newly erased.
type Erased struct {
	Erased int `json:"erased"`
}

// At names a position of a run.
type At struct {
	// At is the position; 0 means the head.
	At id.Seq `json:"at,omitempty" jsonschema:"The position; left out, the head."`
}

// Between names two positions of a run.
type Between struct {
	From id.Seq `json:"from" jsonschema:"The earlier position."`
	// To is the later position; 0 means the head.
	To id.Seq `json:"to,omitempty" jsonschema:"The later position; left out, the head."`
}

// RunEnd is how a machine ended.
type RunEnd struct {
	// Reason is "terminal", or the bound or guard that ended the run.
	Reason   string `json:"reason"`
	Terminal bool   `json:"terminal"`
	State    string `json:"state"`
	Message  string `json:"message,omitempty"`
	Seq      id.Seq `json:"seq"`
}

// MachineState is a machine's run as it stood at a position.
type MachineState struct {
	Board    id.Board  `json:"board"`
	Machine  string    `json:"machine"`
	Version  int       `json:"version"`
	Digest   id.Digest `json:"digest"`
	Position id.Seq    `json:"position"`
	State    string    `json:"state"`
	// Entry counts the state entries of the run.
	Entry int     `json:"entry"`
	Ended *RunEnd `json:"ended,omitempty"`
	// Context are the fields that hold something, in the document's order.
	Context []Field `json:"context"`
}

// Verified is a run whose record was decided again from its contributions alone.
type Verified struct {
	Board         id.Board `json:"board"`
	Through       id.Seq   `json:"through"`
	Entries       int      `json:"entries"`
	Contributions int      `json:"contributions"`
	Guards        int      `json:"guards"`
	// Erased is the first contribution whose content was erased: what follows it
	// cannot be decided again. 0 when there is none.
	Erased id.Seq `json:"erased,omitempty"`
}

// Migrate moves a run to another definition.
type Migrate struct {
	// Document is the text of the machine's YAML document.
	Document string `json:"document" jsonschema:"The text of the new YAML document."`
}
