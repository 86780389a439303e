package control

import (
	"context"
	"runtime"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// lane is a line of callers of which one at a time leads a batch. A store that
// writes one transaction at a time has one lane for everybody; one that can write
// boards side by side has a lane for every board that somebody waits for.
type lane struct {
	key   id.Ref
	queue queue
	// crowd is how many callers there were around the latest batch, in it and waiting
	// behind it, and took how long the latest took that was of more than one call. They
	// are the leader's.
	crowd int
	took  time.Duration
	// first is the caller who found nobody in the lane, and desk where its leader works.
	first pending
	desk  desk
}

// laneOf is the lane that a call belongs to: that of the first board it wants.
func (w *Writer) laneOf(tenant id.Tenant, wants []board.Want) id.Ref {
	switch {
	case !w.batching.PerBoard:
		return id.Ref{}
	case len(wants) == 0:
		return id.Ref{Tenant: tenant}
	}
	return wants[0].Ref
}

// Do queues a call and returns its answer once everything it rests on is durable.
// A lone caller is served at once, on its own goroutine. Cancelling ctx withdraws a
// call that is still queued; one whose batch has begun is answered with what
// became of it. The error is a *refusal.Refusal, ctx's or a defect.
func (w *Writer) Do(ctx context.Context, tenant id.Tenant, call Call) (any, Receipt, error) {
	if ctx.Err() != nil {
		return nil, Receipt{}, context.Cause(ctx)
	}
	wants := call.Wants()
	key := w.laneOf(tenant, wants)
	w.mu.Lock()
	l := w.lanes[key]
	if l == nil {
		if l, w.spare = w.spare, nil; l == nil {
			l = &lane{}
		}
		if l.key != key {
			l.key, l.crowd = key, 0
		}
		w.lanes[key] = l
		w.mu.Unlock()
		l.first = pending{call: call, tenant: tenant, wants: wants}
		return w.lead(ctx, l, &l.first)
	}
	p := &pending{call: call, tenant: tenant, wants: wants, turn: make(chan bool, 1)}
	l.queue.push(p)
	w.mu.Unlock()

	select {
	case lead := <-p.turn:
		if lead {
			return w.lead(ctx, l, p)
		}
	case <-ctx.Done():
		w.mu.Lock()
		withdrawn := l.queue.withdraw(p)
		w.mu.Unlock()
		if withdrawn {
			return nil, Receipt{}, context.Cause(ctx)
		}
		// The batch has begun, or this caller was just asked to lead the next one.
		if lead := <-p.turn; lead {
			return w.lead(ctx, l, p)
		}
	}
	return p.answer, p.receipt, p.err
}

// lead runs one batch of the lane that begins with p, then hands the lead to the
// next caller in line, so that nobody serves others for longer than one batch. A
// lane that nobody waits in goes. It returns p's answer.
func (w *Writer) lead(ctx context.Context, l *lane, p *pending) (any, Receipt, error) {
	if err := w.acquire(ctx); err != nil {
		p.fail(err)
		l.crowd = 1
	} else {
		w.gather(l)
		batch := w.batch(l, p)
		if l.crowd = len(batch); l.crowd == 1 {
			w.run(Detached(ctx), &l.desk, batch)
		} else {
			begun := time.Now()
			w.run(Detached(ctx), &l.desk, batch)
			l.took = time.Since(begun)
		}
		w.release()
	}
	// The lane's own room is the next leader's from the hand-over on.
	answer, receipt, err := p.answer, p.receipt, p.err
	l.first = pending{}
	w.mu.Lock()
	l.crowd += l.queue.length
	next := l.queue.pop()
	if next == nil {
		delete(w.lanes, l.key)
		w.spare = l
	}
	w.mu.Unlock()
	if next != nil {
		next.turn <- true
	}
	return answer, receipt, err
}

// gather lets those who were answered together, and come again, into the line before
// a batch is closed; else the quickest of them would have a transaction for itself
// while all others wait for it. It gives way for a small part of what the latest
// batch took, and not at all when that was one call's.
func (w *Writer) gather(l *lane) {
	const part, most = 8, 1000
	if l.crowd < 2 {
		return
	}
	until := time.Now().Add(l.took / part)
	for range most {
		w.mu.Lock()
		back := 1+l.queue.length >= min(l.crowd, w.batching.Calls)
		w.mu.Unlock()
		if back || !time.Now().Before(until) {
			return
		}
		runtime.Gosched()
	}
}

// batch is p and those who wait behind it, up to the store's limit.
func (w *Writer) batch(l *lane, p *pending) []*pending {
	p.alone[0] = p
	batch := p.alone[:]
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.queue.length > 0 {
		batch = append(make([]*pending, 0, min(w.batching.Calls, 1+l.queue.length)), p)
	}
	for len(batch) < w.batching.Calls {
		next := l.queue.pop()
		if next == nil {
			break
		}
		batch = append(batch, next)
	}
	return batch
}

// Detached is ctx without its end: what has begun is finished.
func Detached(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// busyAfter is how long a leader waits for its turn at a store whose transactions
// are all taken before its caller is told so.
const busyAfter = 30 * time.Second

// acquire waits until the store can take one more transaction.
func (w *Writer) acquire(ctx context.Context) error {
	if w.slots == nil {
		return nil
	}
	select {
	case w.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(busyAfter)
	defer timer.Stop()
	select {
	case w.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return refusal.New(refusal.StoreBusy, "", "the store's %d transactions were all taken for %s", cap(w.slots), busyAfter).
			WithFix("nothing was written: try again later, or give the store more connections")
	}
}

func (w *Writer) release() {
	if w.slots != nil {
		<-w.slots
	}
}
