// Package runner drives one machine run: it claims the summonses that are due,
// hands each to the body of its agent, settles it with what came of it, and tells
// the run's timeline. It holds nothing that matters: killed at any point and started
// again, it goes on where the record stands.
//
// It must not know rules of the machine, SQL, or how a body does its work.
package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// DefaultTimeout is how long an agent may take to answer a summons.
const DefaultTimeout = time.Minute

// Agent is who answers an agent's summonses in this process.
type Agent struct {
	Body agent.Body
	// Timeout is how long one summons may take; 0 means DefaultTimeout.
	Timeout time.Duration
}

// Config is what a run needs.
type Config struct {
	Boards    *boards.Service
	Machines  *machines.Service
	Principal control.Principal
	Board     id.Board
	// Definition is the machine; Limits are the board run's, when it is opened here.
	Definition *machine.Definition
	Limits     wire.RunLimits
	Agents     map[string]Agent
	// Holder names this process in the summonses it holds.
	Holder string
	// Alone says that whoever held a summons of this run before is dead, so that it
	// may be taken over at once.
	Alone bool
	// Observe is told the run's timeline, one event at a time, in order. What stood on
	// the record before is not told again.
	Observe func(timeline.Event)
}

// Result is how a run stands when Run returns.
type Result struct {
	// Joined is set when the run had been opened before.
	Joined bool
	// End is how the machine ended; nil when the board's run was closed by something
	// else, which Outcome then tells.
	End     *machine.End
	Outcome *wire.Outcome
}

// Missing returns the agents of a machine that nobody answers for.
func Missing(def *machine.Definition, agents map[string]Agent) []string {
	var out []string
	for _, a := range def.Agents {
		if _, ok := agents[a.Name]; !ok {
			out = append(out, a.Name)
		}
	}
	return out
}

// Run opens the machine's run on its board, or joins the one there, and drives it
// until it ends or ctx does. The error is a refusal, ctx's error or a defect.
func Run(ctx context.Context, cfg Config) (Result, error) {
	if missing := Missing(cfg.Definition, cfg.Agents); len(missing) > 0 {
		return Result{}, refusal.New(refusal.UnknownAgent, missing[0], "nobody answers for: %s", refusal.List(missing)).
			WithFix("name a program for every agent of the machine")
	}
	opened, err := cfg.Machines.Open(ctx, cfg.Principal, cfg.Board, cfg.Definition, cfg.Limits)
	if err != nil {
		return Result{}, err
	}
	r := &run{Config: cfg, told: newTeller(cfg), done: make(chan finished), moved: make(chan struct{}, 1), working: map[string]*worker{}}
	if opened.Joined {
		if err := r.resume(ctx, opened); err != nil {
			return Result{Joined: true}, err
		}
	}
	result, err := r.drive(ctx)
	result.Joined = opened.Joined
	r.stop(context.WithoutCancel(ctx), result.End != nil)
	if told := r.told.follow(context.WithoutCancel(ctx)); err == nil {
		err = told
	}
	return result, err
}

// run is one drive of a machine run.
type run struct {
	Config
	told *teller
	done chan finished
	// moved is sent to when a write took its agent's summons along: the machine has
	// moved on, and somebody else may be due while that agent still works.
	moved   chan struct{}
	working map[string]*worker
	active  int
}

// worker is a body at work on a summons.
type worker struct {
	summons wire.Summons
	cancel  context.CancelCauseFunc
}

// finished is a body that returned.
type finished struct {
	w   *worker
	err error
	// cut says that the runner ended the body, and not its own time.
	cut bool
}

// errSuperseded ends a body whose summons may no longer write.
var errSuperseded = errors.New("the machine has moved on")

// resume takes over a run that was opened before.
func (r *run) resume(ctx context.Context, opened machines.Opened) error {
	held := 0
	if r.Alone && opened.Ended == nil {
		n, err := r.Machines.ReleaseAll(ctx, r.Principal, r.Board)
		if err != nil && refusal.CodeOf(err) != refusal.RunClosed {
			return err
		}
		held = n
	}
	if err := r.told.skip(ctx); err != nil {
		return err
	}
	text := fmt.Sprintf("board %s at position %d", r.Board, r.told.head)
	switch {
	case opened.Ended != nil:
		text += ", which has ended (another board begins anew)"
	case held > 0:
		text += fmt.Sprintf("; %d summonses were held by a process that died", held)
	}
	r.told.tell(timeline.Event{Kind: timeline.Resumed, Text: text})
	return nil
}

// lookEvery is how long the run is left alone at most: another process may write to
// the board or end its run, and a store tells nobody.
const lookEvery = time.Second

// drive claims and settles until the run has ended.
func (r *run) drive(ctx context.Context) (Result, error) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	timeouts := make(map[string]time.Duration, len(r.Agents))
	for name, a := range r.Agents {
		timeouts[name] = timeout(a)
	}
	for {
		claimed, err := r.Machines.Claim(ctx, r.Principal, r.Board, r.Holder, timeouts)
		if err != nil {
			return Result{}, err
		}
		if err := r.told.follow(ctx); err != nil {
			return Result{}, err
		}
		if claimed.Outcome != nil || claimed.Ended != nil {
			return Result{End: claimed.Ended, Outcome: claimed.Outcome}, nil
		}
		for _, s := range claimed.Summons {
			r.start(ctx, s)
		}
		if r.active == 0 && claimed.Next.IsZero() {
			return Result{}, fmt.Errorf("runner: the machine waits and no summons is to be sent")
		}
		wait := lookEvery
		for _, at := range []time.Time{claimed.Next, claimed.Closes} {
			if !at.IsZero() {
				wait = min(wait, max(at.Sub(claimed.Now), time.Millisecond))
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return Result{}, ctx.Err()
		case <-timer.C:
		case <-r.moved:
		case f := <-r.done:
			if err := r.finish(ctx, f); err != nil {
				return Result{}, err
			}
		}
	}
}

func timeout(a Agent) time.Duration {
	if a.Timeout > 0 {
		return a.Timeout
	}
	return DefaultTimeout
}

// start lets a body work on a summons. One that still works on an older summons of
// the same agent is ended: it can write nothing any more.
func (r *run) start(ctx context.Context, s wire.Summons) {
	if old := r.working[s.Agent]; old != nil {
		old.cancel(errSuperseded)
	}
	a := r.Agents[s.Agent]
	bodyCtx, cancel := context.WithCancelCause(ctx)
	w := &worker{summons: s, cancel: cancel}
	r.working[s.Agent] = w
	r.active++
	if r.told.again(s) {
		r.told.tell(timeline.Event{Kind: timeline.Redelivery, Agent: s.Agent, State: s.State, Entry: s.Entry, Attempt: s.Attempt})
	}
	go func() {
		defer cancel(nil)
		limited, stop := context.WithTimeout(bodyCtx, timeout(a))
		defer stop()
		surface := &watched{Surface: r.Machines.Surface(r.Principal, r.Board, &s), agent: s.Agent, told: r.told, moved: r.moved}
		err := call(limited, a.Body, &s, surface)
		if err == nil || limited.Err() != context.DeadlineExceeded {
			r.done <- finished{w: w, err: err, cut: bodyCtx.Err() != nil}
			return
		}
		r.done <- finished{w: w, err: fmt.Errorf("no answer within %s: %w", timeout(a), err)}
	}()
}

// call runs a body. A panic in it is its own failure.
func call(ctx context.Context, body agent.Body, s *wire.Summons, b agent.Surface) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the agent panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return body(ctx, s, b)
}

// finish settles a summons: acknowledged when its body returned nil, failed when it
// did not, and released when the runner itself ended the body.
func (r *run) finish(ctx context.Context, f finished) error {
	r.active--
	if r.working[f.w.summons.Agent] == f.w {
		delete(r.working, f.w.summons.Agent)
	}
	s := f.w.summons
	if f.cut {
		err := r.Machines.Release(ctx, r.Principal, r.Board, s.Agent, s.Generation)
		return unless(err, refusal.StaleSummons, refusal.RunClosed, refusal.UnknownBoard)
	}
	settlement := machine.Settlement{Agent: s.Agent, Generation: s.Generation, Acknowledged: f.err == nil}
	if f.err != nil {
		settlement.Failure = failure(f.err)
	}
	// A summons that the machine has moved on from has nothing to settle.
	return unless(r.Machines.Settle(ctx, r.Principal, r.Board, settlement), refusal.StaleSummons, refusal.RunClosed, refusal.UnknownBoard)
}

// unless drops a refusal with one of the codes.
func unless(err error, codes ...refusal.Code) error {
	code := refusal.CodeOf(err)
	for _, c := range codes {
		if code == c {
			return nil
		}
	}
	return err
}

// maxFailure is how much of an agent's error goes on the record, in bytes.
const maxFailure = 1000

// failure is an error as the record keeps it: text that every store takes.
func failure(err error) string {
	text := err.Error()
	if len(text) > maxFailure {
		text = strings.ToValidUTF8(text[:maxFailure], "") + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// parting is how long bodies may take to leave by themselves once the machine has
// ended: one of them wrote what ended it and is about to return.
const parting = 2 * time.Second

// stop ends every body still at work and gives its summons back.
func (r *run) stop(ctx context.Context, ended bool) {
	var late <-chan time.Time
	if ended {
		timer := time.NewTimer(parting)
		defer timer.Stop()
		late = timer.C
	} else {
		r.cancelAll()
	}
	for r.active > 0 {
		select {
		case <-late:
			r.cancelAll()
		case f := <-r.done:
			f.cut = true
			if err := r.finish(ctx, f); err != nil {
				r.told.tell(timeline.Event{Kind: timeline.Logged, Agent: f.w.summons.Agent, Text: "giving its summons back: " + err.Error()})
			}
		}
	}
}

// cancelAll ends the bodies at work. Those that were superseded were cancelled when
// that happened.
func (r *run) cancelAll() {
	for _, w := range r.working {
		w.cancel(errSuperseded)
	}
}
