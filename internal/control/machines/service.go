package machines

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Service is the machine area's methods. It is safe for concurrent use.
type Service struct {
	w      *control.Writer
	boards *boards.Service
	area   *Area
}

// New returns the machine area of a writer that was given area.
func New(w *control.Writer, b *boards.Service, area *Area) *Service {
	return &Service{w: w, boards: b, area: area}
}

// do runs a call and what its commit promised.
func (s *Service) do(ctx context.Context, ref id.Ref, call control.Call) (any, error) {
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, call)
	s.boards.After(ctx, receipt)
	return answer, err
}

func as[A any](answer any, err error) (A, error) {
	var zero A
	if err != nil {
		return zero, err
	}
	return answer.(A), nil
}

// Open starts the machine on a board that does not exist yet, or joins the one that
// runs there. MACHINE_DIFFERS refuses a document other than the one the run pins,
// BOARD_EXISTS a board without a machine.
func (s *Service) Open(ctx context.Context, p control.Principal, b id.Board, def *machine.Definition, limits wire.RunLimits) (Opened, error) {
	ref := boards.Ref(p, b)
	if err := id.CheckName("board", string(b)); err != nil {
		return Opened{}, refusal.New(refusal.InvalidRequest, "board", "%v", err)
	}
	return as[Opened](s.do(ctx, ref, open{target{ref}, def, limits, p.Name}))
}

// Claim takes the summonses that are due for the agents in timeouts, which says
// how long each may take; a summons whose lease has passed is due again (M8).
func (s *Service) Claim(ctx context.Context, p control.Principal, b id.Board, holder string, timeouts map[string]time.Duration) (Claimed, error) {
	ref := boards.Ref(p, b)
	return as[Claimed](s.do(ctx, ref, claim{target{ref}, holder, timeouts}))
}

// Settle says that the agent stopped working on a summons, acknowledged or failed.
// STALE_SUMMONS refuses one that is no longer the newest.
func (s *Service) Settle(ctx context.Context, p control.Principal, b id.Board, settlement machine.Settlement) error {
	ref := boards.Ref(p, b)
	_, err := s.do(ctx, ref, settle{target{ref}, settlement})
	return err
}

// Release makes one agent's summons claimable again at once, as the same attempt.
func (s *Service) Release(ctx context.Context, p control.Principal, b id.Board, agent string, generation int64) error {
	ref := boards.Ref(p, b)
	_, err := s.do(ctx, ref, release{target{ref}, agent, generation})
	return err
}

// ReleaseAll makes every summons that is held claimable again at once. The caller
// knows that whoever held them is dead. It returns how many there were.
func (s *Service) ReleaseAll(ctx context.Context, p control.Principal, b id.Board) (int, error) {
	ref := boards.Ref(p, b)
	return as[int](s.do(ctx, ref, release{target{ref}, "", 0}))
}

// Migrate moves the run to another definition after checking its state and fields
// (decision 14). CANNOT_MIGRATE lists every obstacle.
func (s *Service) Migrate(ctx context.Context, p control.Principal, b id.Board, to *machine.Definition) (wire.Standing, error) {
	ref := boards.Ref(p, b)
	return as[wire.Standing](s.do(ctx, ref, migrate{target{ref}, to}))
}

// Replay folds a run's record up to a position; 0 means all of it.
func (s *Service) Replay(ctx context.Context, p control.Principal, b id.Board, until id.Seq) (*machine.Run, error) {
	v, err := s.boards.Show(ctx, p, b)
	if err != nil {
		return nil, err
	}
	switch {
	case until == 0:
		until = v.Head
	case until < 0 || until > v.Head:
		return nil, refusal.New(refusal.InvalidRequest, "at", "board %q has positions 1 to %d, not %d", b, v.Head, until)
	}
	if !hasMachine(v) {
		return nil, noMachine(b)
	}
	return machine.Replay(s.area.pinned(ctx, p.Tenant), stream(ctx, s.w.Store(), boards.Ref(p, b)), until)
}

// Verify starts from the contributions of a run alone, decides everything again and
// compares it with the record. ALTERED_RECORD names the first difference.
func (s *Service) Verify(ctx context.Context, p control.Principal, b id.Board) (wire.Verified, error) {
	v, err := s.boards.Show(ctx, p, b)
	if err != nil {
		return wire.Verified{}, err
	}
	if !hasMachine(v) {
		return wire.Verified{}, noMachine(b)
	}
	r, err := machine.Verify(s.area.pinned(ctx, p.Tenant), stream(ctx, s.w.Store(), boards.Ref(p, b)))
	if err != nil {
		return wire.Verified{}, err
	}
	return wire.Verified{Board: b, Through: r.Through, Entries: r.Entries, Contributions: r.Contributions,
		Guards: r.Guards, Erased: r.Erased}, nil
}

// Diff shows what changed in a run between two positions.
func (s *Service) Diff(ctx context.Context, p control.Principal, b id.Board, r wire.Between) ([]machine.Change, error) {
	before, err := s.Replay(ctx, p, b, r.From)
	if err != nil {
		return nil, err
	}
	after, err := s.Replay(ctx, p, b, r.To)
	if err != nil {
		return nil, err
	}
	return machine.Diff(before, after), nil
}

// invalid is a document's load error as a refusal, for a door that has no file.
func invalid(err error) error {
	var load *machine.LoadError
	if errors.As(err, &load) {
		return refusal.New(refusal.MachineInvalid, "document", "%v", err)
	}
	return err
}

func hasMachine(v wire.BoardState) bool {
	for _, r := range v.Regions {
		if r.Name == machine.JournalRegion {
			return true
		}
	}
	return false
}

func noMachine(b id.Board) error {
	return refusal.New(refusal.NoMachine, string(b), "no machine runs on board %q", b).
		WithFix("slate run opens one")
}

// Surface is the machine's board as a summoned agent sees it.
func (s *Service) Surface(p control.Principal, b id.Board, sum *wire.Summons) *Surface {
	p.Name = sum.Agent
	return &Surface{Board: s.boards.Surface(p, b), s: s, p: p, ref: boards.Ref(p, b), summons: sum, ordinals: map[string]int{}}
}

// value is the JSON of what an agent hands over.
func value(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, refusal.New(refusal.InvalidContent, "value", "the value has no JSON form: %v", err)
	}
	return data, nil
}
