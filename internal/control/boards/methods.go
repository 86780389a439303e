package boards

import (
	"context"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/wire"
)

// envelope is what a body may have beside its content.
const envelope = 64 << 10

// RegisterMethods adds the board area's methods to the table.
func (s *Service) RegisterMethods(t *control.Table) {
	content := s.cfg.Limits.Bytes + envelope
	type none = struct{}
	read := func(verb, summary string) control.Method {
		return control.Method{Name: "board." + verb, Summary: summary, Action: "board:read", Reads: true, OnBoard: true, Bytes: envelope}
	}
	write := func(verb, action, summary string, bytes int) control.Method {
		return control.Method{Name: "board." + verb, Summary: summary, Action: "board:" + action, OnBoard: true, Bytes: bytes}
	}

	list := read("list", "List the tenant's boards by name.")
	list.OnBoard = false
	control.Define(t, list, func(ctx context.Context, p control.Principal, _ id.Board, page wire.Page) (wire.Boards, error) {
		return s.List(ctx, p, page)
	})
	control.Define(t, read("show", "Show a board: its regions, its open run with its agents, its latest outcome."),
		func(ctx context.Context, p control.Principal, b id.Board, _ none) (wire.BoardState, error) {
			return s.Show(ctx, p, b)
		})
	control.Define(t, read(wire.CallRegions, "List the regions that agents may see."),
		func(ctx context.Context, p control.Principal, b id.Board, _ none) (wire.Regions, error) {
			rs, err := s.Surface(p, b).Regions(ctx)
			return wire.Regions{Regions: rs}, err
		})
	control.Define(t, read(wire.CallLevel, "Read a page of a level's contributions, oldest first."),
		func(ctx context.Context, p control.Principal, b id.Board, r wire.ReadRegion) (wire.Entries, error) {
			return s.Surface(p, b).Level(ctx, r.Region, r.Page)
		})
	control.Define(t, read(wire.CallPremise, "Read a premise as it stands."),
		func(ctx context.Context, p control.Principal, b id.Board, r wire.ReadPremise) (wire.PremiseState, error) {
			return s.Surface(p, b).Premise(ctx, r.Region)
		})
	control.Define(t, read(wire.CallChanges, "Read a page of everything written after a cursor, in order."),
		func(ctx context.Context, p control.Principal, b id.Board, page wire.Page) (wire.Entries, error) {
			return s.Surface(p, b).Changes(ctx, page)
		})

	create := write("create", "administer", "Make a board with regions, agents and opening values, and open a run.", content)
	create.OnBoard = false
	control.Define(t, create, func(ctx context.Context, p control.Principal, _ id.Board, c wire.CreateBoard) (wire.Attached, error) {
		return s.Create(ctx, p, c, s.callablesOf(Ref(p, c.Board)))
	})
	attach := write("attach", "administer", "Join a board's open run, or open another after the last has closed.", envelope)
	attach.OnBoard = false
	control.Define(t, attach, func(ctx context.Context, p control.Principal, _ id.Board, a wire.AttachBoard) (wire.Attached, error) {
		return s.Attach(ctx, p, a, s.callablesOf(Ref(p, a.Board)))
	})
	control.Define(t, write("register", "join", "Register an agent on the open run.", envelope),
		func(ctx context.Context, p control.Principal, b id.Board, a wire.AgentDecl) (wire.AgentState, error) {
			return s.Register(ctx, p, b, a)
		})
	control.Define(t, write(wire.CallWriteLevel, "write", "Add a contribution to a level.", content),
		func(ctx context.Context, p control.Principal, b id.Board, w wire.LevelWrite) (wire.Result, error) {
			return s.Surface(p, b).WriteLevel(ctx, w)
		})
	control.Define(t, write(wire.CallWritePremise, "write", "Replace a premise's value if it is at the expected version.", content),
		func(ctx context.Context, p control.Principal, b id.Board, w wire.PremiseWrite) (wire.Result, error) {
			return s.Surface(p, b).WritePremise(ctx, w)
		})
	control.Define(t, write(wire.CallAcknowledge, "write", "Say that the agent stopped working on what it was told of.", envelope),
		func(ctx context.Context, p control.Principal, b id.Board, a wire.Acknowledge) (none, error) {
			return none{}, s.Acknowledge(ctx, p, b, a)
		})
	control.Define(t, write("abort", "administer", "End a board's run.", envelope),
		func(ctx context.Context, p control.Principal, b id.Board, a wire.Abort) (wire.Outcome, error) {
			return s.Abort(ctx, p, b, a.Reason)
		})
	control.Define(t, write("erase", "erase", "Erase the content of entries for good; positions, digests and tombstones stay.", envelope),
		func(ctx context.Context, p control.Principal, b id.Board, e wire.Erase) (wire.Erased, error) {
			n, err := s.Erase(ctx, p, b, e)
			return wire.Erased{Erased: n}, err
		})
	control.Define(t, write("delete", "delete", "Delete a board with its whole record.", envelope),
		func(ctx context.Context, p control.Principal, b id.Board, _ none) (none, error) {
			return none{}, s.Delete(ctx, p, b)
		})
	put := control.Method{Name: "blob.put", Summary: "Store a value by its content.", Action: "blob:write", Bytes: MaxBlob/3*4 + envelope}
	control.Define(t, put, func(ctx context.Context, p control.Principal, _ id.Board, body wire.PutBlob) (wire.Stored, error) {
		d, err := s.PutBlob(ctx, p, body.Base64)
		return wire.Stored{Digest: d, Bytes: len(body.Base64)}, err
	})
	get := control.Method{Name: "blob.get", Summary: "Read a value by its digest.", Action: "blob:read", Reads: true, Bytes: envelope}
	control.Define(t, get, func(ctx context.Context, p control.Principal, _ id.Board, body wire.GetBlob) (wire.PutBlob, error) {
		data, err := s.Blob(ctx, p, body.Digest)
		return wire.PutBlob{Base64: data}, err
	})
}
