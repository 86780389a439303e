package control

import (
	"context"

	"github.com/slate-agents/slate/id"
)

// pending is one caller that waits for its call to be decided.
type pending struct {
	call   Call
	tenant id.Tenant
	// turn is closed when the caller has its answer, or is sent true when it is to
	// lead the next batch itself.
	turn chan bool

	answer  any
	err     error
	receipt Receipt
}

// fail answers with an error. What the call came to before the failure is void.
func (p *pending) fail(err error) { p.answer, p.receipt, p.err = nil, Receipt{}, err }

// queue is the callers that wait, first come first served within a tenant and
// taking turns between tenants, so that a busy tenant delays itself.
type queue struct {
	tenants []id.Tenant // those with callers waiting, in order of turn
	waiting map[id.Tenant][]*pending
	length  int
}

func newQueue() *queue { return &queue{waiting: map[id.Tenant][]*pending{}} }

func (q *queue) push(p *pending) {
	if len(q.waiting[p.tenant]) == 0 {
		q.tenants = append(q.tenants, p.tenant)
	}
	q.waiting[p.tenant] = append(q.waiting[p.tenant], p)
	q.length++
}

// pop removes the caller whose turn it is, or returns nil.
func (q *queue) pop() *pending {
	if q.length == 0 {
		return nil
	}
	tenant := q.tenants[0]
	q.tenants = q.tenants[1:]
	line := q.waiting[tenant]
	p := line[0]
	if len(line) == 1 {
		delete(q.waiting, tenant)
	} else {
		q.waiting[tenant] = line[1:]
		q.tenants = append(q.tenants, tenant)
	}
	q.length--
	return p
}

// withdraw removes a caller and reports whether it was still waiting.
func (q *queue) withdraw(p *pending) bool {
	line := q.waiting[p.tenant]
	for i, other := range line {
		if other != p {
			continue
		}
		line = append(line[:i:i], line[i+1:]...)
		q.length--
		if len(line) > 0 {
			q.waiting[p.tenant] = line
			return true
		}
		delete(q.waiting, p.tenant)
		for j, tenant := range q.tenants {
			if tenant == p.tenant {
				q.tenants = append(q.tenants[:j:j], q.tenants[j+1:]...)
				break
			}
		}
		return true
	}
	return false
}

// Do queues a call and returns its answer once everything it rests on is durable.
// A lone caller is served at once, on its own goroutine. Cancelling ctx withdraws a
// call that is still queued; one whose batch has begun is answered with what
// became of it. The error is a *refusal.Refusal or a defect.
func (w *Writer) Do(ctx context.Context, tenant id.Tenant, call Call) (any, Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, Receipt{}, context.Cause(ctx)
	}
	p := &pending{call: call, tenant: tenant}
	w.mu.Lock()
	if !w.leading && w.queue.length == 0 {
		w.leading = true
		w.mu.Unlock()
		w.lead(ctx, p)
		return p.answer, p.receipt, p.err
	}
	p.turn = make(chan bool, 1)
	w.queue.push(p)
	w.mu.Unlock()

	select {
	case lead := <-p.turn:
		if lead {
			w.lead(ctx, p)
		}
	case <-ctx.Done():
		w.mu.Lock()
		withdrawn := w.queue.withdraw(p)
		w.mu.Unlock()
		if withdrawn {
			return nil, Receipt{}, context.Cause(ctx)
		}
		// The batch has begun, or this caller was just asked to lead the next one.
		if lead := <-p.turn; lead {
			w.lead(ctx, p)
		}
	}
	return p.answer, p.receipt, p.err
}

// lead runs one batch that begins with p, then hands the lead to the next caller
// in line, so that nobody serves others for longer than one batch.
func (w *Writer) lead(ctx context.Context, p *pending) {
	batch := []*pending{p}
	w.mu.Lock()
	for len(batch) < w.maxBatch {
		next := w.queue.pop()
		if next == nil {
			break
		}
		batch = append(batch, next)
	}
	w.mu.Unlock()

	w.run(context.WithoutCancel(ctx), batch)
	for _, done := range batch[1:] {
		done.turn <- false
	}

	w.mu.Lock()
	next := w.queue.pop()
	w.leading = next != nil
	w.mu.Unlock()
	if next != nil {
		next.turn <- true
	}
}
