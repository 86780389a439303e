package boards

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// How a notification is sent.
const (
	// lease is how long a relay may take to settle what it claimed.
	lease = 30 * time.Second
	// maxTries is how often a notification is sent before it is given up.
	maxTries = 8
	// The wait before the second try; it doubles with every further one up to
	// longestWait.
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// Relay sends what is due in one board's outbox to the agents that this process
// reaches: claim, commit, send, settle (decision 9). One relay runs a board at a
// time in a process; a caller that finds one at work leaves the rest to it, so an
// agent that writes while it is being told does not wait for itself.
func (s *Service) Relay(ctx context.Context, ref id.Ref) {
	c := s.callablesOf(ref)
	if len(c.Notify) == 0 && c.Reach == nil {
		return
	}
	s.mu.Lock()
	if _, at := s.relaying[ref]; at {
		s.relaying[ref] = true
		s.mu.Unlock()
		return
	}
	s.relaying[ref] = false
	s.mu.Unlock()

	for {
		sent, err := s.relayOnce(ctx, ref, c)
		if err != nil {
			s.cfg.Log.Error("relaying the outbox", "board", ref.String(), "error", err)
		}
		s.mu.Lock()
		again := s.relaying[ref] || sent
		if !again || err != nil {
			delete(s.relaying, ref)
			s.mu.Unlock()
			return
		}
		s.relaying[ref] = false
		s.mu.Unlock()
	}
}

// relayOnce claims what is due, sends it and settles it. It reports whether it
// found anything.
func (s *Service) relayOnce(ctx context.Context, ref id.Ref, c board.Callables) (bool, error) {
	names := make(map[string]bool, len(c.Notify))
	for name := range c.Notify {
		names[name] = true
	}
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, claim{target{ref: ref}, lease, names, c.Reach != nil})
	if err != nil {
		return false, err
	}
	claimed := answer.([]board.Claimed)
	if len(claimed) == 0 {
		s.nudge(receipt.NextDue)
		return false, nil
	}
	settled := make([]board.Settlement, 0, len(claimed))
	for _, n := range claimed {
		settled = append(settled, s.send(ctx, c, n))
	}
	_, receipt, err = s.w.Do(ctx, ref.Tenant, settle{target{ref: ref}, settled})
	s.nudge(receipt.NextDue)
	return true, err
}

// send tells one agent and says how the claim ends.
func (s *Service) send(ctx context.Context, c board.Callables, n board.Claimed) board.Settlement {
	done := board.Settlement{Agent: n.Notification.Agent, Claim: n.Claim}
	err := reach(ctx, c, n)
	if err == nil {
		return done
	}
	_, refused := refusal.As(err)
	if !refused && n.Tries < maxTries {
		done.RetryIn = min(firstWait<<(n.Tries-1), longestWait)
		return done
	}
	u := board.Undelivered{Address: n.Address, Agent: n.Notification.Agent, Notification: n.Notification, Tries: n.Tries, Err: err}
	s.cfg.Log.Warn("a notification was given up", "board", n.Notification.Board, "agent", u.Agent, "address", u.Address, "tries", u.Tries, "error", err)
	if c.Undelivered != nil {
		c.Undelivered(ctx, u)
	}
	return done
}

// reach calls the agent's callable or sends to its address. A panic in it is its
// failure, not the relay's.
func reach(ctx context.Context, c board.Callables, n board.Claimed) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the agent panicked: %v\n%s", v, debug.Stack())
		}
	}()
	if notify := c.Notify[n.Notification.Agent]; notify != nil {
		return notify(ctx, n.Notification)
	}
	if c.Reach == nil {
		return errors.New("no transport")
	}
	return c.Reach(ctx, n.Address, n.Notification)
}

// Swept counts what a sweep did.
type Swept struct {
	// Boards were due, Closed had their run closed.
	Boards int
	Closed int
}

// sweepPage is how many due boards a sweep reads at a time, and maxSwept how many
// it visits at most.
const (
	sweepPage = 256
	maxSwept  = 100_000
)

// Sweep closes the runs whose limits have passed and relays what is unsent, across
// every board of every tenant (B20). Two sweeps at once do no harm.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	now := s.cfg.Now()
	// A board that stays due because this process cannot serve it is passed over, so
	// that it does not hide those behind it.
	stay := 0
	for done.Boards < maxSwept {
		rows, err := s.w.Store().Boards(ctx, board.BoardQuery{DueBy: now, Offset: stay, Limit: sweepPage})
		if err != nil || len(rows) == 0 {
			return done, err
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				return done, err
			}
			closed, due, err := s.sweepBoard(ctx, row.Ref, now)
			if err != nil {
				return done, fmt.Errorf("sweeping board %s: %w", row.Ref, err)
			}
			done.Boards++
			if closed {
				done.Closed++
			}
			if due {
				stay++
			}
		}
	}
	return done, nil
}

// sweepBoard does what is due on one board. It reports whether it closed the run
// and whether the board is still due.
func (s *Service) sweepBoard(ctx context.Context, ref id.Ref, now time.Time) (closed, due bool, err error) {
	c := s.callablesOf(ref)
	s.Relay(ctx, ref)
	o, err := s.expire(ctx, ref, c)
	if err != nil {
		return false, false, err
	}
	f, err := s.w.Store().Look(ctx, board.Want{Ref: ref})
	if err != nil {
		return false, false, err
	}
	return o != nil, f.Found && !f.Row.Due.IsZero() && !f.Row.Due.After(now), nil
}

// expire closes the run if a limit has passed, after asking the termination
// predicate about the position it will judge.
func (s *Service) expire(ctx context.Context, ref id.Ref, c board.Callables) (*wire.Outcome, error) {
	var judgement *board.Judgement
	if c.Termination != nil {
		f, err := s.w.Store().Look(ctx, board.Want{Ref: ref})
		if err != nil || !f.Found {
			return nil, err
		}
		judgement = &board.Judgement{Judged: -1}
		st := board.NewState(ref, f)
		if idle, _ := st.Overdue(s.cfg.Now()); idle {
			*judgement = board.Judgement{Judged: f.Row.Head, Complete: c.Termination(ctx, st.View())}
		}
	}
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, expire{s.target(ref, c), judgement})
	if refusal.CodeOf(err) == refusal.UnknownBoard {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if receipt.Closed != nil {
		s.closed(ctx, ref, c, *receipt.Closed)
	}
	return answer.(*wire.Outcome), nil
}

// nudge tells a running sweeper that something falls due before it meant to wake.
func (s *Service) nudge(due time.Time) {
	if due.IsZero() || due.UnixNano() >= s.sleepUntil.Load() {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// sweepEvery is the longest a sweeper sleeps, and soonest the least it does between
// two sweeps: other processes write to the store too.
const (
	sweepEvery = time.Second
	soonest    = time.Millisecond
)

// RunSweeper sweeps until ctx ends: when something falls due, and in any case every
// second. It returns when the sweep under way has finished.
func (s *Service) RunSweeper(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
			if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Log.Error("sweeping", "error", err)
			}
		}
		wait := s.untilDue(ctx)
		s.sleepUntil.Store(s.cfg.Now().Add(wait).UnixNano())
		timer.Reset(wait)
	}
}

// untilDue is how long to sleep before the earliest due board, at most sweepEvery.
func (s *Service) untilDue(ctx context.Context) time.Duration {
	now := s.cfg.Now()
	rows, err := s.w.Store().Boards(ctx, board.BoardQuery{DueBy: now.Add(sweepEvery), Limit: 1})
	if err != nil || len(rows) == 0 {
		return sweepEvery
	}
	if wait := rows[0].Due.Sub(now); wait > soonest {
		return wait
	} else if wait > 0 {
		return soonest
	}
	// Due already: left by the last sweep, because this process cannot serve it.
	return sweepEvery
}
