// Package boards is the board area of the writer: it turns a typed request into a
// call, checks at the boundary what the board itself never looks at (names, sizes,
// encoding), and does after a commit what the commit promised: tell the agents that
// are due, and whoever asked to hear of a run's opening and closing.
//
// The rules are package board's; this package decides nothing about a write. It
// must not know HTTP, SQL or what any content means.
package boards

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Config is what a Service needs beside its writer. Zero fields mean the defaults.
type Config struct {
	// Now is the clock that the store was given, for finding what is due.
	Now func() time.Time
	// Limits bound the content of every write.
	Limits wire.Limits
	// Callables finds the callables of a board that no handle of this process was
	// given any for.
	Callables func(ref id.Ref) board.Callables
	// Log is told of what no caller can be told.
	Log *slog.Logger
}

// Service is the board area. It is safe for concurrent use.
type Service struct {
	w    *control.Writer
	info board.Info
	cfg  Config

	mu        sync.Mutex
	callables map[id.Ref]*board.Callables
	relaying  map[id.Ref]*relay
	// wake interrupts a sweeper that sleeps until sleepUntil (Unix nanoseconds).
	wake       chan struct{}
	sleepUntil atomic.Int64
	// collected is when blobs were last collected (Unix nanoseconds).
	collected atomic.Int64
}

// New returns the board area of a writer.
func New(ctx context.Context, w *control.Writer, cfg Config) (*Service, error) {
	info, err := w.Store().Info(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Limits == (wire.Limits{}) {
		cfg.Limits = wire.DefaultLimits
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{w: w, info: info, cfg: cfg, callables: map[id.Ref]*board.Callables{},
		relaying: map[id.Ref]*relay{}, wake: make(chan struct{}, 1)}, nil
}

// Use gives this process the callables of a board, in place of those it had. They
// are kept until the process ends or closes the board's run.
func (s *Service) Use(ref id.Ref, c board.Callables) { s.use(ref, c) }

// use is Use and returns the callables there were. undo puts them back, unless
// others have come since.
func (s *Service) use(ref id.Ref, c board.Callables) (before *board.Callables, undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := &c
	before = s.callables[ref]
	s.callables[ref] = mine
	return before, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.callables[ref] != mine:
		case before == nil:
			delete(s.callables, ref)
		default:
			s.callables[ref] = before
		}
	}
}

// callablesOf returns what this process holds for a board.
func (s *Service) callablesOf(ref id.Ref) board.Callables {
	s.mu.Lock()
	c, ok := s.callables[ref]
	s.mu.Unlock()
	switch {
	case ok:
		return *c
	case s.cfg.Callables != nil:
		return s.cfg.Callables(ref)
	}
	return board.Callables{}
}

// Ref is the address of a principal's board.
func Ref(p control.Principal, b id.Board) id.Ref { return id.Ref{Tenant: p.Tenant, Board: b} }

// check refuses a principal or board whose name no store would keep.
func check(p control.Principal, b id.Board) error {
	if err := id.CheckName("tenant", string(p.Tenant)); err != nil {
		return refusal.New(refusal.InvalidRequest, "tenant", "%v", err)
	}
	if err := id.CheckName("writer", p.Name); err != nil {
		return refusal.New(refusal.InvalidRequest, "writer", "%v", err)
	}
	if err := id.CheckName("board", string(b)); err != nil {
		return refusal.New(refusal.InvalidRequest, "board", "%v", err)
	}
	return nil
}

func (s *Service) target(ref id.Ref, c board.Callables) target {
	return target{ref: ref, predicate: c.Termination != nil}
}

// do runs a call and afterwards what its commit promised.
func (s *Service) do(ctx context.Context, ref id.Ref, c board.Callables, call control.Call) (any, error) {
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, call)
	s.after(ctx, receipt, c)
	return answer, err
}

// After does what a commit promised, for an area whose calls go to the writer
// themselves.
func (s *Service) After(ctx context.Context, receipt control.Receipt) {
	if receipt.Ref != (id.Ref{}) {
		s.after(ctx, receipt, s.callablesOf(receipt.Ref))
	}
}

func (s *Service) after(ctx context.Context, r control.Receipt, c board.Callables) {
	ctx = control.Detached(ctx)
	s.told(ctx, r, c)
	if r.Due {
		s.Relay(ctx, r.Ref)
	} else {
		s.later(r.Ref, r.NextDue)
	}
}

// told tells whoever asked to hear of it that a call closed or opened a run.
func (s *Service) told(ctx context.Context, r control.Receipt, c board.Callables) {
	if r.Closed != nil {
		s.closed(ctx, r.Ref, c, *r.Closed, r.Opened)
	}
	if r.Opened && c.Opened != nil {
		if v, err := s.view(ctx, r.Ref); err != nil {
			s.cfg.Log.Error("reading an opened board", "board", r.Ref.String(), "error", err)
		} else {
			s.guard("opened", r.Ref, func() { c.Opened(ctx, v) })
		}
	}
}

// guard calls a callable that can refuse nothing: a panic in it is its own, and
// neither the caller's nor the sweep's.
func (s *Service) guard(what string, ref id.Ref, call func()) {
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Log.Error("a callable panicked", "callable", what, "board", ref.String(), "panic", v, "stack", string(debug.Stack()))
		}
	}()
	call()
}

// closed tells the application that this process closed a run, and lets go of what
// it held for it, unless the same call opened the next one.
func (s *Service) closed(ctx context.Context, ref id.Ref, c board.Callables, o wire.Outcome, reopened bool) {
	if !reopened {
		s.forget(ref)
	}
	if c.Closed == nil {
		return
	}
	v, err := s.view(ctx, ref)
	if err != nil {
		s.cfg.Log.Error("reading a closed board", "board", ref.String(), "error", err)
		v = wire.BoardState{Board: ref.Board, Outcome: &o}
	}
	s.guard("closed", ref, func() { c.Closed(ctx, v, o) })
}

func (s *Service) forget(ref id.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.callables, ref)
}

// Create makes a board, or adds regions to one without an open run, and opens a
// run (B6). The callables are this process's for the board from now on.
func (s *Service) Create(ctx context.Context, p control.Principal, body wire.CreateBoard, c board.Callables) (wire.Attached, error) {
	if err := check(p, body.Board); err != nil {
		return wire.Attached{}, err
	}
	for _, r := range body.Regions {
		if r.Owner != "" {
			return wire.Attached{}, refusal.New(refusal.InvalidRequest, r.Name, "region %q: an application declares no owner", r.Name)
		}
	}
	for _, o := range body.Opening {
		if err := s.content("opening "+o.Region, o.Content); err != nil {
			return wire.Attached{}, err
		}
	}
	if body.Writer == "" {
		body.Writer = p.Name
	} else if err := id.CheckName("writer", body.Writer); err != nil {
		return wire.Attached{}, refusal.New(refusal.InvalidRequest, "writer", "%v", err)
	}
	body.Opening = slices.Clone(body.Opening)
	for i := range body.Opening {
		body.Opening[i].Content = slices.Clone(body.Opening[i].Content)
	}
	ref := Ref(p, body.Board)
	return s.begin(ctx, ref, c, create{s.target(ref, c), body})
}

// begin runs a call that opens or joins a run. The callables are in place before
// it, because a write may follow the commit at once; when the call fails they go.
func (s *Service) begin(ctx context.Context, ref id.Ref, c board.Callables, call control.Call) (wire.Attached, error) {
	before, undo := s.use(ref, c)
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, call)
	if receipt.Closed != nil {
		// The run before had outlived its limit. Those who knew of it hear of its end.
		if before == nil {
			before = &c
		}
		s.closed(context.WithoutCancel(ctx), ref, *before, *receipt.Closed, receipt.Opened)
		receipt.Closed = nil
	}
	s.after(ctx, receipt, c)
	if err != nil && refusal.CodeOf(err) != refusal.CommitUnknown {
		undo()
	}
	return as[wire.Attached](answer, err)
}

// Attach joins a board's open run or opens another (B6).
func (s *Service) Attach(ctx context.Context, p control.Principal, body wire.AttachBoard, c board.Callables) (wire.Attached, error) {
	if err := check(p, body.Board); err != nil {
		return wire.Attached{}, err
	}
	ref := Ref(p, body.Board)
	return s.begin(ctx, ref, c, attach{s.target(ref, c), body})
}

// Delete removes a board, its record and its run. Nothing of it can be read again.
func (s *Service) Delete(ctx context.Context, p control.Principal, b id.Board) error {
	if err := check(p, b); err != nil {
		return err
	}
	ref := Ref(p, b)
	_, err := s.do(ctx, ref, board.Callables{}, remove{target{ref: ref}})
	if err == nil {
		s.forget(ref)
	}
	return err
}

// Register adds an agent to the open run (B7).
func (s *Service) Register(ctx context.Context, p control.Principal, b id.Board, body wire.AgentDecl) (wire.AgentState, error) {
	if err := check(p, b); err != nil {
		return wire.AgentState{}, err
	}
	ref := Ref(p, b)
	c := s.callablesOf(ref)
	return as[wire.AgentState](s.do(ctx, ref, c, register{s.target(ref, c), body}))
}

// WriteLevel adds a contribution to a level. The write is durable when it is
// answered, and the agents that it puts out of date and that have no batch window
// to wait for were told.
func (s *Service) WriteLevel(ctx context.Context, p control.Principal, b id.Board, body wire.LevelWrite) (wire.Result, error) {
	if err := s.writable(p, b, body.Region, body.Key, body.Content, body.Blobs); err != nil {
		return wire.Result{}, err
	}
	// The caller may use its buffer again; the record may not change with it.
	body.Content = slices.Clone(body.Content)
	ref := Ref(p, b)
	c := s.callablesOf(ref)
	verdict, err := s.admit(ctx, c, board.Proposal{Ref: ref, Region: body.Region, Kind: wire.Level, Writer: p.Name, Content: body.Content})
	if err != nil {
		return wire.Result{}, err
	}
	return s.write(ctx, ref, c, func(r reached, relays bool) control.Call {
		return writeLevel{writing{s.target(ref, c), p.Name, verdict, relays, r}, body}
	})
}

// WritePremise replaces a premise's value if it is at the expected version. Without
// content it clears the premise.
func (s *Service) WritePremise(ctx context.Context, p control.Principal, b id.Board, body wire.PremiseWrite) (wire.Result, error) {
	content := body.Content
	if content == nil {
		content = json.RawMessage("null")
	}
	if err := s.writable(p, b, body.Region, body.Key, content, body.Blobs); err != nil {
		return wire.Result{}, err
	}
	body.Content = slices.Clone(body.Content)
	ref := Ref(p, b)
	c := s.callablesOf(ref)
	verdict, err := s.admit(ctx, c, board.Proposal{Ref: ref, Region: body.Region, Kind: wire.Premise, Writer: p.Name, Content: body.Content, Expect: body.Expect})
	if err != nil {
		return wire.Result{}, err
	}
	return s.write(ctx, ref, c, func(r reached, relays bool) control.Call {
		return writePremise{writing{s.target(ref, c), p.Name, verdict, relays, r}, body}
	})
}

// writable is the boundary of a write.
func (s *Service) writable(p control.Principal, b id.Board, region, key string, content json.RawMessage, blobs []id.Digest) error {
	if err := check(p, b); err != nil {
		return err
	}
	if key != "" {
		if err := id.CheckName("key", key); err != nil {
			return refusal.New(refusal.InvalidRequest, "key", "%v", err)
		}
	}
	for _, d := range blobs {
		if !isDigest(d) {
			return unknownBlob(d)
		}
	}
	return s.content(region, content)
}

// content checks encoding, size and depth; what it means is nobody's business here.
func (s *Service) content(ref string, content json.RawMessage) error {
	if r := s.cfg.Limits.Check(ref, content); r != nil {
		return r
	}
	return nil
}

// admit asks the application's admission rule, before anything is locked. Its
// verdict names the position it judged.
func (s *Service) admit(ctx context.Context, c board.Callables, proposal board.Proposal) (verdict board.Verdict, err error) {
	if c.Admission == nil {
		return board.Verdict{}, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the admission rule panicked: %v\n%s", v, debug.Stack())
		}
	}()
	f, err := s.w.Store().Look(ctx, board.Want{Ref: proposal.Ref})
	if err != nil {
		return board.Verdict{}, err
	}
	proposal.Head = f.Row.Head
	verdict = c.Admission(ctx, proposal)
	verdict.Judged = f.Row.Head
	return verdict, nil
}

// Acknowledge moves the cursor of the agent that the principal is (B11).
func (s *Service) Acknowledge(ctx context.Context, p control.Principal, b id.Board, body wire.Acknowledge) error {
	if err := check(p, b); err != nil {
		return err
	}
	ref := Ref(p, b)
	c := s.callablesOf(ref)
	_, err := s.do(ctx, ref, c, acknowledge{s.target(ref, c), p.Name, body})
	return err
}

// Abort ends a board's run; the outcome carries the reason and names no agents.
func (s *Service) Abort(ctx context.Context, p control.Principal, b id.Board, reason string) (wire.Outcome, error) {
	if err := check(p, b); err != nil {
		return wire.Outcome{}, err
	}
	if err := text("reason", reason); err != nil {
		return wire.Outcome{}, err
	}
	ref := Ref(p, b)
	o, err := as[*wire.Outcome](s.do(ctx, ref, s.callablesOf(ref), abort{target{ref: ref}, reason}))
	if err != nil {
		return wire.Outcome{}, err
	}
	return *o, nil
}

// Erase takes the content from entries for good and leaves tombstones. It returns
// how many were newly erased.
func (s *Service) Erase(ctx context.Context, p control.Principal, b id.Board, body wire.Erase) (int, error) {
	if err := check(p, b); err != nil {
		return 0, err
	}
	if len(body.Seqs) == 0 || len(body.Seqs) > wire.MaxPage {
		return 0, refusal.New(refusal.InvalidRequest, "seqs", "an erase names 1 to %d entries, not %d", wire.MaxPage, len(body.Seqs))
	}
	if err := text("reason", body.Reason); err != nil {
		return 0, err
	}
	ref := Ref(p, b)
	return as[int](s.do(ctx, ref, board.Callables{}, erase{target{ref: ref}, p.Name, body}))
}

// maxReason is the longest reason that goes on the record, in bytes.
const maxReason = 4096

// text refuses what some store could not keep.
func text(what, s string) error {
	if len(s) > maxReason || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return refusal.New(refusal.InvalidRequest, what, "the %s is not UTF-8 text of at most %d bytes without NUL characters", what, maxReason)
	}
	return nil
}

// as gives an answer its type. A call that was refused has none.
func as[A any](answer any, err error) (A, error) {
	var zero A
	if err != nil {
		return zero, err
	}
	a, ok := answer.(A)
	if !ok {
		return zero, fmt.Errorf("control: a call answered %T instead of %T", answer, zero)
	}
	return a, nil
}

// Limits bound the content of every write.
func (s *Service) Limits() wire.Limits { return s.cfg.Limits }
