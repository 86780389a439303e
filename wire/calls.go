package wire

import "github.com/slate-agents/slate/id"

// The calls of the agent protocol (docs/agents.md).
const (
	CallUpdateContext = "updateContext" // with UpdateContext, answered by Wrote
	CallReadContext   = "readContext"   // with ReadContext, answered by Field
	CallRegions       = "regions"       // with nothing, answered by Regions
	CallLevel         = "level"         // with ReadRegion, answered by Entries
	CallPremise       = "premise"       // with ReadPremise, answered by PremiseState
	CallChanges       = "changes"       // with Page, answered by Entries
	CallPutBlob       = "putBlob"       // with PutBlob, answered by Stored
	CallStanding      = "standing"      // with nothing, answered by Stands
)

// The writes of the agent surface (B18), which a summoned agent has no use for.
const (
	CallWriteLevel   = "writeLevel"   // with LevelWrite, answered by Result
	CallWritePremise = "writePremise" // with PremiseWrite, answered by Result
	CallAcknowledge  = "acknowledge"  // with Acknowledge
)

// Calls lists the calls of the agent protocol in the order of the document.
var Calls = []string{
	CallUpdateContext, CallReadContext, CallRegions, CallLevel, CallPremise, CallChanges, CallPutBlob, CallStanding,
}

// MaxLine is the most bytes a line of the agent protocol may have, in the direction
// from the program, without its newline.
const MaxLine = 2 << 20

// Wrote is what updateContext answers a program: an Updated without what every
// CallResult carries.
type Wrote struct {
	Seq      id.Seq `json:"seq"`
	Repeated bool   `json:"repeated,omitempty"`
	Differs  bool   `json:"differs,omitempty"`
	State    string `json:"state"`
}

// Regions is the list of a board's regions.
type Regions struct {
	Regions []Region `json:"regions"`
}

// ReadPremise asks for a premise as it stands.
type ReadPremise struct {
	Region string `json:"region"`
}

// PutBlob asks to store a large value by its content.
type PutBlob struct {
	// Base64 is the value in standard base64 with padding.
	Base64 []byte `json:"base64"`
}

// Stored is what putBlob answers: how to refer to the value.
type Stored struct {
	Digest id.Digest `json:"digest"`
	Bytes  int       `json:"bytes"`
}

// Stands is what standing answers: a Standing without what every CallResult carries.
type Stands struct {
	State string `json:"state"`
}

// GetBlob asks for a value by its digest.
type GetBlob struct {
	Digest id.Digest `json:"digest"`
}
