package boards

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
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
	if r := s.beginRelay(ref, true); r != nil {
		s.passes(ctx, ref, c, r, nil, true)
	}
}

// beginRelay makes the caller the board's relay, or returns nil when one is at work,
// which is asked for another pass if again is set.
func (s *Service) beginRelay(ref id.Ref, again bool) *relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.relaying[ref]; r != nil {
		r.again = r.again || again
		return nil
	}
	r := &relay{}
	s.relaying[ref] = r
	return r
}

// passes sends what was claimed already and then, while there is more, makes pass
// after pass. The caller is the board's relay until it returns.
func (s *Service) passes(ctx context.Context, ref id.Ref, c board.Callables, r *relay, claimed []board.Claimed, more bool) {
	var err error
	if len(claimed) > 0 {
		more, err = s.carry(ctx, ref, c, claimed)
	}
	for {
		if err != nil {
			s.cfg.Log.Error("relaying the outbox", "board", ref.String(), "error", err)
		}
		s.mu.Lock()
		if !r.again && !more || err != nil {
			delete(s.relaying, ref)
			s.mu.Unlock()
			s.nudge(r.due)
			return
		}
		r.again = false
		s.mu.Unlock()
		more, err = s.relayOnce(ctx, ref, c)
	}
}

// write runs a write. When nobody relays the board, the write begins the relay and
// claims what it makes due in its own transaction, so that the agents are told after
// one commit.
func (s *Service) write(ctx context.Context, ref id.Ref, c board.Callables, call func(reached, bool) control.Call) (wire.Result, error) {
	var r *relay
	if len(c.Notify) > 0 || c.Reach != nil {
		r = s.beginRelay(ref, false)
	}
	if r == nil {
		w, err := as[written](s.do(ctx, ref, c, call(reached{}, false)))
		return w.result, err
	}
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, call(reached{c.Notify, c.Reach != nil}, true))
	w, err := as[written](answer, err)
	ctx = control.Detached(ctx)
	s.told(ctx, receipt, c)
	s.later(ref, receipt.NextDue)
	s.passes(ctx, ref, c, r, w.claimed, receipt.Due)
	return w.result, err
}

// relay is one that is at work on a board. again is set when somebody asked for
// another pass, and due is when something falls due that it need not wait for.
type relay struct {
	again bool
	due   time.Time
}

// again asks a relay that is at work on a board for another pass. It reports whether
// there is one.
func (s *Service) again(ref id.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.relaying[ref]
	if r != nil {
		r.again = true
	}
	return r != nil
}

// later sees to what falls due on a board by itself. What is due now while a relay
// is at work is that relay's next pass; the sweeper would only come in between.
func (s *Service) later(ref id.Ref, due time.Time) {
	if due.IsZero() {
		return
	}
	s.mu.Lock()
	r := s.relaying[ref]
	if r != nil && due.After(s.cfg.Now()) && (r.due.IsZero() || due.Before(r.due)) {
		r.due = due
	}
	s.mu.Unlock()
	if r == nil {
		s.nudge(due)
	}
}

// relayOnce claims what is due, sends it and settles it. It reports whether more was
// due by then.
func (s *Service) relayOnce(ctx context.Context, ref id.Ref, c board.Callables) (bool, error) {
	answer, receipt, err := s.w.Do(ctx, ref.Tenant, claim{target{ref: ref}, reached{c.Notify, c.Reach != nil}})
	if err != nil {
		return false, err
	}
	claimed := answer.([]board.Claimed)
	if len(claimed) == 0 {
		s.later(ref, receipt.NextDue)
		return false, nil
	}
	return s.carry(ctx, ref, c, claimed)
}

// carry sends what was claimed and settles it. It reports whether more was due by
// then.
func (s *Service) carry(ctx context.Context, ref id.Ref, c board.Callables, claimed []board.Claimed) (bool, error) {
	settled := make([]board.Settlement, 0, len(claimed))
	for _, n := range claimed {
		settled = append(settled, s.send(ctx, ref, c, n))
	}
	_, receipt, err := s.w.Do(ctx, ref.Tenant, settle{target{ref: ref}, settled})
	s.later(ref, receipt.NextDue)
	return receipt.Due, err
}

// atWork reports whether a relay of this process is at work on a board.
func (s *Service) atWork(ref id.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.relaying[ref] != nil
}

// send tells one agent and says how the claim ends.
func (s *Service) send(ctx context.Context, ref id.Ref, c board.Callables, n board.Claimed) board.Settlement {
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
	s.cfg.Log.Warn("a notification was given up", "board", ref.String(), "agent", u.Agent, "address", u.Address, "tries", u.Tries, "error", err)
	if c.Undelivered != nil {
		s.guard("undelivered", ref, func() { c.Undelivered(ctx, u) })
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
	done, _, err := s.sweep(ctx)
	return done, err
}

// sweep is Sweep; it also returns how many boards stay due. One board's failure
// does not keep it from the others.
func (s *Service) sweep(ctx context.Context) (Swept, int, error) {
	var done Swept
	var failed []error
	now := s.cfg.Now()
	if err := s.collect(ctx, now); err != nil {
		failed = append(failed, fmt.Errorf("collecting blobs: %w", err))
	}
	// A board that stays due because this process cannot serve it is passed over, so
	// that it does not hide those behind it. One that a relay is at work on is left to
	// another pass of that relay, unless its run is to be closed.
	stay, atWork := 0, 0
	for done.Boards < maxSwept {
		rows, err := s.w.Store().Boards(ctx, board.BoardQuery{DueBy: now, Offset: stay + atWork, Limit: sweepPage})
		if err != nil || len(rows) == 0 {
			return done, stay, errors.Join(append(failed, err)...)
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				return done, stay, err
			}
			if closes := row.Run.Closes(); (closes.IsZero() || closes.After(now)) && s.again(row.Ref) {
				atWork++
				continue
			}
			closed, due, err := s.sweepBoard(ctx, row.Ref, now)
			if err != nil {
				failed = append(failed, fmt.Errorf("sweeping board %s: %w", row.Ref, err))
				due = true
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
	return done, stay, errors.Join(failed...)
}

// How long a blob that nothing refers to is kept, and how often they are collected.
const (
	keepBlob     = 24 * time.Hour
	collectEvery = time.Hour
)

// collect removes the blobs that nothing has referred to for a day, at most once an
// hour and process.
func (s *Service) collect(ctx context.Context, now time.Time) error {
	last := s.collected.Load()
	if last != 0 && now.Sub(time.Unix(0, last)).Abs() < collectEvery || !s.collected.CompareAndSwap(last, now.UnixNano()) {
		return nil
	}
	_, _, err := s.w.Do(ctx, "", collectBlobs{keepBlob})
	return err
}

// sweepBoard does what is due on one board. It reports whether it closed the run
// and whether the board is still due.
func (s *Service) sweepBoard(ctx context.Context, ref id.Ref, now time.Time) (closed, due bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a callable panicked: %v\n%s", v, debug.Stack())
		}
	}()
	c := s.callablesOf(ref)
	s.Relay(ctx, ref)
	closed, next, err := s.expire(ctx, ref, c)
	return closed, err == nil && !next.IsZero() && !next.After(now), err
}

// expire closes the run if a limit has passed, after asking the termination
// predicate about the position it will judge. It reports whether it did, and when
// there is something to do on the board next; zero means never.
func (s *Service) expire(ctx context.Context, ref id.Ref, c board.Callables) (closed bool, next time.Time, err error) {
	var judgement *board.Judgement
	if c.Termination != nil {
		f, err := s.w.Store().Look(ctx, board.Want{Ref: ref})
		if err != nil || !f.Found {
			return false, next, err
		}
		judgement = &board.Judgement{Judged: -1}
		st := board.NewState(ref, f)
		if idle, _ := st.Overdue(s.cfg.Now()); idle {
			*judgement = board.Judgement{Judged: f.Row.Head, Complete: c.Termination(ctx, st.View())}
		}
	}
	_, receipt, err := s.w.Do(ctx, ref.Tenant, expire{s.target(ref, c), judgement})
	if refusal.CodeOf(err) == refusal.UnknownBoard {
		return false, next, nil
	}
	if err != nil {
		return false, next, err
	}
	if receipt.Closed != nil {
		s.closed(ctx, ref, c, *receipt.Closed, false)
	}
	return receipt.Closed != nil, receipt.NextDue, nil
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
	stay := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
			var err error
			if _, stay, err = s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Log.Error("sweeping", "error", err)
			}
		}
		// From here on a write that falls due before the sleep is known interrupts it.
		s.sleepUntil.Store(math.MaxInt64)
		wait := s.untilDue(ctx, stay)
		s.sleepUntil.Store(s.cfg.Now().Add(wait).UnixNano())
		timer.Reset(wait)
	}
}

// untilDue is how long to sleep before the earliest due board, at most sweepEvery.
// Those that stayed due after the last sweep, because this process cannot serve
// them, do not count; those that a relay is at work on count with their run's limits,
// because the relay says itself when there is more to do.
func (s *Service) untilDue(ctx context.Context, stay int) time.Duration {
	now := s.cfg.Now()
	s.mu.Lock()
	limit := 1 + len(s.relaying)
	s.mu.Unlock()
	rows, err := s.w.Store().Boards(ctx, board.BoardQuery{DueBy: now.Add(sweepEvery), Offset: stay, Limit: min(limit, sweepPage)})
	if err != nil {
		return sweepEvery
	}
	wait := sweepEvery
	for _, row := range rows {
		due := row.Due
		if s.atWork(row.Ref) {
			if due = row.Run.Closes(); due.IsZero() {
				continue
			}
		}
		wait = min(wait, due.Sub(now))
	}
	return max(wait, soonest)
}
