package control

import (
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// pending is one caller that waits for its call to be decided.
type pending struct {
	call   Call
	tenant id.Tenant
	wants  []board.Want
	// turn is sent false when the caller has its answer, and true when it is to lead
	// its lane's next batch itself.
	turn chan bool

	answer  any
	err     error
	receipt Receipt

	// alone is the room for a batch of one.
	alone [1]*pending
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

func (q *queue) push(p *pending) {
	if q.waiting == nil {
		q.waiting = map[id.Tenant][]*pending{}
	}
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
