// Package agent is what an agent sees of Slate, in process or from a program of
// its own: the surface it reads and writes through, the summons that asks it to
// act, and Main, which runs a body as an executable that speaks the agent protocol
// on standard input and output. An agent body is written once against these
// interfaces.
//
// It imports the three leaves (id, refusal, wire) and nothing else of Slate: it must
// not know stores, deciders or
// how a surface is reached.
package agent

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// Reads are the four reads of the agent surface (B18). Every read pages; a page
// never holds a transaction open.
type Reads interface {
	// Regions lists the board's regions by name. Regions whose name begins with an
	// underscore are hidden from agents.
	Regions(ctx context.Context) ([]wire.Region, error)
	// Level returns a page of a level's contributions, oldest first.
	Level(ctx context.Context, region string, page wire.Page) (wire.Entries, error)
	// Premise returns a premise as it stands.
	Premise(ctx context.Context, region string) (wire.PremiseState, error)
	// Changes returns a page of everything written after a cursor, in order, with
	// no position left out; an empty cursor begins at the first write.
	Changes(ctx context.Context, page wire.Page) (wire.Entries, error)
}

// Board is one board as one agent sees it: four reads and three writes without
// the agent's own name (B18).
type Board interface {
	Reads
	// WriteLevel adds a contribution to a level.
	WriteLevel(ctx context.Context, w wire.LevelWrite) (wire.Result, error)
	// WritePremise replaces a premise's value if it is at the expected version.
	WritePremise(ctx context.Context, w wire.PremiseWrite) (wire.Result, error)
	// Acknowledge says that the agent stopped working on what it was told of.
	Acknowledge(ctx context.Context, a wire.Acknowledge) error
}

// Surface is a machine's board as a summoned agent sees it. A refusal comes back
// as a *refusal.Refusal error; any other error is a defect or a lost connection.
type Surface interface {
	Reads
	// UpdateContext writes a context field: it replaces a scalar, appends an element
	// to a list, or sets the agent's own entry of a map. value is marshalled as JSON
	// unless it is a json.RawMessage.
	UpdateContext(ctx context.Context, field string, value any) (wire.Updated, error)
	// UpdateEntry is UpdateContext with an explicit map key. It is refused
	// FOREIGN_KEY on a field that requirements gather.
	UpdateEntry(ctx context.Context, field, key string, value any) (wire.Updated, error)
	// ReadContext returns a context field in full.
	ReadContext(ctx context.Context, field string) (wire.Field, error)
	// PutBlob stores a large value by its content and returns the digest by which a
	// blob field can refer to it.
	PutBlob(ctx context.Context, data []byte) (id.Digest, error)
	// Standing is the context block and the position as they are now.
	Standing(ctx context.Context) (wire.Standing, error)
}

// Body is what an agent does with one summons. Returning nil acknowledges it:
// the agent has stopped working on it. An error does not.
type Body func(ctx context.Context, s *wire.Summons, b Surface) error

// marshal is the JSON form of a value handed to UpdateContext.
func marshal(value any) (json.RawMessage, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	return encode(value)
}

// encode is json.Marshal without the escapes that only HTML needs: what is written
// stays on a record that people read.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
