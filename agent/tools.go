package agent

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// tool is one method of the agent surface as something a language model can ask for.
type tool struct {
	name, description string
	request           reflect.Type
	do                func(ctx context.Context, b Board, with json.RawMessage) (any, error)
}

// define makes a tool of a method whose request has the type Req.
func define[Req, Ans any](name, description string, do func(context.Context, Board, Req) (Ans, error)) tool {
	return tool{name, description, reflect.TypeFor[Req](), func(ctx context.Context, b Board, with json.RawMessage) (any, error) {
		var req Req
		if len(with) == 0 {
			with = json.RawMessage("{}")
		}
		if err := wire.Decode(with, &req); err != nil {
			return nil, err
		}
		return do(ctx, b, req)
	}}
}

// tools are the seven methods of Board, in the order of the interface.
var tools = []tool{
	define(wire.CallRegions, "List the board's regions: their names, kinds and versions.",
		func(ctx context.Context, b Board, _ struct{}) (wire.Regions, error) {
			rs, err := b.Regions(ctx)
			return wire.Regions{Regions: rs}, err
		}),
	define(wire.CallLevel, "Read a page of a level's contributions, oldest first, each with its writer.",
		func(ctx context.Context, b Board, r wire.ReadRegion) (wire.Entries, error) {
			return b.Level(ctx, r.Region, r.Page)
		}),
	define(wire.CallPremise, "Read a premise: its current value and version.",
		func(ctx context.Context, b Board, r wire.ReadPremise) (wire.PremiseState, error) {
			return b.Premise(ctx, r.Region)
		}),
	define(wire.CallChanges, "Read a page of everything written after a cursor, in order.",
		func(ctx context.Context, b Board, p wire.Page) (wire.Entries, error) { return b.Changes(ctx, p) }),
	define(wire.CallWriteLevel, "Add a contribution to a level. Nothing that is there changes.",
		func(ctx context.Context, b Board, w wire.LevelWrite) (wire.Result, error) {
			return b.WriteLevel(ctx, w)
		}),
	define(wire.CallWritePremise, "Replace a premise's value, if it is still at the version that you read. A conflict changes nothing and tells the current version.",
		func(ctx context.Context, b Board, w wire.PremiseWrite) (wire.Result, error) {
			return b.WritePremise(ctx, w)
		}),
	define(wire.CallAcknowledge, "Say that you stopped working on what a notification told you.",
		func(ctx context.Context, b Board, a wire.Acknowledge) (struct{}, error) {
			return struct{}{}, b.Acknowledge(ctx, a)
		}),
}

// Tools describes the agent surface in the form that language-model interfaces
// accept (B21), one tool a method. The application chooses which to offer.
func Tools() []wire.Tool {
	out := make([]wire.Tool, 0, len(tools))
	for _, t := range tools {
		out = append(out, wire.Tool{Name: t.name, Description: t.description, InputSchema: wire.Schema(t.request)})
	}
	return out
}

// Use runs the tool that a language model asked for on the agent's board. A body
// that does not fit the tool's schema is refused INVALID_REQUEST, an unknown tool
// UNKNOWN_CALL; a conflict or rejection is in the answer.
func Use(ctx context.Context, b Board, name string, with json.RawMessage) (any, error) {
	var names []string
	for _, t := range tools {
		if t.name == name {
			return t.do(ctx, b, with)
		}
		names = append(names, t.name)
	}
	return nil, refusal.New(refusal.UnknownCall, name, "there is no tool %q", name).
		WithFix("use one of: %s", refusal.List(names))
}
