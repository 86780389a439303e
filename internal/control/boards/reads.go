package boards

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// MaxBlob is the largest content-addressed value, in bytes.
const MaxBlob = 64 << 20

// Show describes a board with its regions, run and latest outcome.
func (s *Service) Show(ctx context.Context, p control.Principal, b id.Board) (wire.BoardState, error) {
	if err := check(p, b); err != nil {
		return wire.BoardState{}, err
	}
	return s.view(ctx, Ref(p, b))
}

func (s *Service) view(ctx context.Context, ref id.Ref) (wire.BoardState, error) {
	f, err := s.look(ctx, ref)
	if err != nil {
		return wire.BoardState{}, err
	}
	return board.NewState(ref, f).View(), nil
}

func (s *Service) look(ctx context.Context, ref id.Ref) (board.Facts, error) {
	f, err := s.w.Store().Look(ctx, board.Want{Ref: ref})
	if err == nil && !f.Found {
		err = refusal.New(refusal.UnknownBoard, string(ref.Board), "there is no board %q", ref.Board).
			WithFix("create it first, or check its name with the list of boards")
	}
	return f, err
}

// List returns a page of the tenant's boards by name, without their regions.
func (s *Service) List(ctx context.Context, p control.Principal, page wire.Page) (wire.Boards, error) {
	after, err := s.parseListCursor(page.Cursor)
	if err != nil {
		return wire.Boards{}, err
	}
	limit := pageLimit(page)
	rows, err := s.w.Store().Boards(ctx, board.BoardQuery{Tenant: p.Tenant, After: after, Limit: limit + 1})
	if err != nil {
		return wire.Boards{}, err
	}
	out := wire.Boards{Boards: []wire.BoardState{}}
	if len(rows) > limit {
		rows = rows[:limit]
		out.Next = s.listCursor(rows[limit-1].Ref.Board)
	}
	for _, row := range rows {
		out.Boards = append(out.Boards, board.NewState(row.Ref, board.Facts{Found: true, Row: row}).View())
	}
	return out, nil
}

func pageLimit(p wire.Page) int {
	switch {
	case p.Limit <= 0:
		return wire.DefaultPage
	case p.Limit > wire.MaxPage:
		return wire.MaxPage
	}
	return p.Limit
}

// entries reads one page of a board's record.
func (s *Service) entries(ctx context.Context, ref id.Ref, region string, page wire.Page) (wire.Entries, error) {
	after, err := s.parseCursor(page.Cursor)
	if err != nil {
		return wire.Entries{}, err
	}
	limit := pageLimit(page)
	rows, head, err := s.w.Store().Entries(ctx, ref, board.EntryQuery{After: after, Region: region, Limit: limit + 1})
	if err != nil {
		return wire.Entries{}, err
	}
	if after > head {
		if _, err := s.look(ctx, ref); err != nil {
			return wire.Entries{}, err
		}
		return wire.Entries{}, gap(page.Cursor, "the board ends at position %d, before the cursor", head)
	}
	out := wire.Entries{Entries: make([]wire.Entry, 0, min(len(rows), limit)), Head: head, More: len(rows) > limit}
	if out.More {
		rows = rows[:limit]
	}
	last := head
	for _, e := range rows {
		out.Entries = append(out.Entries, e.Entry)
	}
	if out.More {
		last = rows[limit-1].Seq
	}
	out.Next = s.cursor(last)
	return out, nil
}

// Changes returns a page of everything written after the cursor, in order, without
// a gap in the positions.
func (s *Service) Changes(ctx context.Context, p control.Principal, b id.Board, page wire.Page) (wire.Entries, error) {
	if err := check(p, b); err != nil {
		return wire.Entries{}, err
	}
	ref := Ref(p, b)
	out, err := s.entries(ctx, ref, "", page)
	if err == nil && out.Head == 0 {
		_, err = s.look(ctx, ref)
	}
	return out, err
}

// Level returns a page of a level's contributions, oldest first.
func (s *Service) Level(ctx context.Context, p control.Principal, b id.Board, region string, page wire.Page) (wire.Entries, error) {
	if err := check(p, b); err != nil {
		return wire.Entries{}, err
	}
	ref := Ref(p, b)
	if region == "" { // to a store it means every region
		_, err := s.region(ctx, ref, region, wire.Level)
		return wire.Entries{}, err
	}
	out, err := s.entries(ctx, ref, region, page)
	if err != nil {
		return wire.Entries{}, err
	}
	if len(out.Entries) == 0 || out.Entries[0].Kind != wire.Level {
		if _, err := s.region(ctx, ref, region, wire.Level); err != nil {
			return wire.Entries{}, err
		}
	}
	return out, nil
}

// Premise returns a premise as it stands.
func (s *Service) Premise(ctx context.Context, p control.Principal, b id.Board, region string) (wire.PremiseState, error) {
	if err := check(p, b); err != nil {
		return wire.PremiseState{}, err
	}
	ref := Ref(p, b)
	if region == "" {
		_, err := s.region(ctx, ref, region, wire.Premise)
		return wire.PremiseState{}, err
	}
	newest := board.EntryQuery{Region: region, Newest: true, Limit: 1}
	rows, _, err := s.w.Store().Entries(ctx, ref, newest)
	if err != nil {
		return wire.PremiseState{}, err
	}
	if len(rows) == 0 || rows[0].Kind != wire.Premise {
		r, err := s.region(ctx, ref, region, wire.Premise)
		if err != nil {
			return wire.PremiseState{}, err
		}
		if r.Version == 0 {
			return wire.PremiseState{Region: r.Name}, nil
		}
		// It was written in between: a version without its value would pass for one that
		// was cleared.
		if rows, _, err = s.w.Store().Entries(ctx, ref, newest); err != nil {
			return wire.PremiseState{}, err
		}
		if len(rows) == 0 {
			return wire.PremiseState{}, fmt.Errorf("boards: premise %q of board %s went while it was read", region, ref)
		}
	}
	e := rows[0]
	return wire.PremiseState{Region: region, Version: e.Version, Value: e.Content, Seq: e.Seq,
		Writer: e.Writer, At: e.At, Erased: e.Erased}, nil
}

// region finds a region of this kind or refuses, naming those there are.
func (s *Service) region(ctx context.Context, ref id.Ref, name string, kind wire.Kind) (*board.Region, error) {
	f, err := s.look(ctx, ref)
	if err != nil {
		return nil, err
	}
	return board.NewState(ref, f).Declared(name, kind)
}

// PutBlob stores a value by its content and returns its digest. Putting it again is
// the same. A value that no entry refers to is collected after a day.
func (s *Service) PutBlob(ctx context.Context, p control.Principal, data []byte) (id.Digest, error) {
	if err := id.CheckName("tenant", string(p.Tenant)); err != nil {
		return "", refusal.New(refusal.InvalidRequest, "tenant", "%v", err)
	}
	if len(data) > MaxBlob {
		return "", refusal.New(refusal.TooLarge, "blob", "the blob has %d bytes, the limit is %d", len(data), MaxBlob)
	}
	sum := sha256.Sum256(data)
	d := id.Digest(hex.EncodeToString(sum[:]))
	_, _, err := s.w.Do(ctx, p.Tenant, putBlob{p.Tenant, board.Blob{Digest: d, Content: data}})
	return d, err
}

// Blob returns a content-addressed value.
func (s *Service) Blob(ctx context.Context, p control.Principal, d id.Digest) ([]byte, error) {
	if !isDigest(d) {
		return nil, unknownBlob(d)
	}
	data, err := s.w.Store().Blob(ctx, p.Tenant, d)
	if err == nil && data == nil {
		err = unknownBlob(d)
	}
	return data, err
}

// isDigest says whether a store can be asked for d at all.
func isDigest(d id.Digest) bool {
	return len(d) == 2*sha256.Size && strings.Trim(string(d), "0123456789abcdef") == ""
}

func unknownBlob(d id.Digest) error {
	if len(d) > 2*sha256.Size {
		d = d[:2*sha256.Size]
	}
	return refusal.New(refusal.UnknownBlob, string(d), "there is no blob %q", d).
		WithFix("put the blob first; its digest is 64 lower-case hexadecimal digits")
}

// Surface is one board as one agent sees it, in process (B18): regions that begin
// with an underscore are hidden, and in changes their positions carry no content.
func (s *Service) Surface(p control.Principal, b id.Board) agent.Board { return surface{s, p, b} }

type surface struct {
	s *Service
	p control.Principal
	b id.Board
}

func (a surface) Regions(ctx context.Context) ([]wire.Region, error) {
	v, err := a.s.Show(ctx, a.p, a.b)
	if err != nil {
		return nil, err
	}
	out := []wire.Region{}
	for _, r := range v.Regions {
		if !board.Hidden(r.Name) {
			out = append(out, r)
		}
	}
	return out, nil
}

func (a surface) Level(ctx context.Context, region string, page wire.Page) (wire.Entries, error) {
	if err := a.visible(ctx, region); err != nil {
		return wire.Entries{}, err
	}
	return a.s.Level(ctx, a.p, a.b, region, page)
}

func (a surface) Premise(ctx context.Context, region string) (wire.PremiseState, error) {
	if err := a.visible(ctx, region); err != nil {
		return wire.PremiseState{}, err
	}
	return a.s.Premise(ctx, a.p, a.b, region)
}

// visible refuses a hidden region as one that is not there.
func (a surface) visible(ctx context.Context, region string) error {
	if !board.Hidden(region) {
		return nil
	}
	f, err := a.s.look(ctx, Ref(a.p, a.b))
	if err != nil {
		return err
	}
	return board.NewState(Ref(a.p, a.b), f).Unknown(region)
}

func (a surface) Changes(ctx context.Context, page wire.Page) (wire.Entries, error) {
	out, err := a.s.Changes(ctx, a.p, a.b, page)
	for i, e := range out.Entries {
		if board.Hidden(e.Region) {
			out.Entries[i] = wire.Entry{Seq: e.Seq, Region: e.Region, Kind: e.Kind, At: e.At, Hidden: true}
		}
	}
	return out, err
}

func (a surface) WriteLevel(ctx context.Context, w wire.LevelWrite) (wire.Result, error) {
	if err := a.visible(ctx, w.Region); err != nil {
		return wire.Result{}, err
	}
	return a.s.WriteLevel(ctx, a.p, a.b, w)
}

func (a surface) WritePremise(ctx context.Context, w wire.PremiseWrite) (wire.Result, error) {
	if err := a.visible(ctx, w.Region); err != nil {
		return wire.Result{}, err
	}
	return a.s.WritePremise(ctx, a.p, a.b, w)
}

func (a surface) Acknowledge(ctx context.Context, ack wire.Acknowledge) error {
	return a.s.Acknowledge(ctx, a.p, a.b, ack)
}
