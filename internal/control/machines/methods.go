package machines

import (
	"context"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// The largest bodies: a document, and anything else.
const (
	maxDocument = 2 << 20
	maxBody     = 64 << 10
)

// RegisterMethods adds the machine area's methods to the table.
func (s *Service) RegisterMethods(t *control.Table) {
	read := func(verb, summary string) control.Method {
		return control.Method{Name: "machine." + verb, Summary: summary, Action: "machine:read", Reads: true, OnBoard: true, Bytes: maxBody}
	}
	control.Define(t, read("replay", "Show a machine's run as it stood at a position."),
		func(ctx context.Context, p control.Principal, b id.Board, at wire.At) (wire.MachineState, error) {
			run, err := s.Replay(ctx, p, b, at.At)
			if err != nil {
				return wire.MachineState{}, err
			}
			return StateOf(b, run), nil
		})
	control.Define(t, read("diff", "Show what changed in a machine's run between two positions."),
		func(ctx context.Context, p control.Principal, b id.Board, r wire.Between) ([]machine.Change, error) {
			return s.Diff(ctx, p, b, r)
		})
	control.Define(t, read("verify", "Decide a machine's whole run again from its contributions and compare it with the record."),
		func(ctx context.Context, p control.Principal, b id.Board, _ struct{}) (wire.Verified, error) {
			return s.Verify(ctx, p, b)
		})
	control.Define(t, control.Method{Name: "machine.migrate", Summary: "Move a machine's run to another document after checking its state and fields.",
		Action: "machine:migrate", OnBoard: true, Bytes: maxDocument},
		func(ctx context.Context, p control.Principal, b id.Board, m wire.Migrate) (wire.Standing, error) {
			def, err := machine.Load("document", []byte(m.Document))
			if err != nil {
				return wire.Standing{}, invalid(err)
			}
			return s.Migrate(ctx, p, b, def)
		})
}

// StateOf describes a run as it stands.
func StateOf(b id.Board, run *machine.Run) wire.MachineState {
	def := run.Definition()
	out := wire.MachineState{Board: b, Machine: def.Name, Version: def.Version, Digest: def.Digest(),
		Position: run.Position(), State: run.State(), Entry: run.Entry(), Context: []wire.Field{}}
	if end := run.Ended(); end != nil {
		out.Ended = &wire.RunEnd{Reason: end.Reason, Terminal: end.Terminal, State: end.State, Message: end.Message, Seq: end.Seq}
	}
	for _, f := range def.Fields {
		if field, refused := run.Inspect(f.Name); refused == nil && len(field.Entries) > 0 {
			out.Context = append(out.Context, field)
		}
	}
	return out
}
