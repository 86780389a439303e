package control

import (
	"container/list"
	"sync"

	"github.com/slate-agents/slate/id"
)

// cache holds the states of the boards that were decided on lately. A state in it
// is only ever used after the store confirmed, under the board's lock, that the
// board is still at the state's revision; so a stale one costs a load and never
// decides anything. A batch takes the states it uses out and puts them back after
// its commit.
type cache struct {
	mu    sync.Mutex
	limit int
	byRef map[id.Ref]*list.Element
	order *list.List // of *unit, the latest used first
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byRef: map[id.Ref]*list.Element{}, order: list.New()}
}

// take removes and returns the state of a board, or nil.
func (c *cache) take(ref id.Ref) *unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byRef[ref]
	if e == nil {
		return nil
	}
	delete(c.byRef, ref)
	return c.order.Remove(e).(*unit)
}

// put keeps the state of a board, and drops the least recently used beyond the limit.
func (c *cache) put(u *unit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byRef[u.ref]; e != nil {
		c.order.Remove(e)
	}
	c.byRef[u.ref] = c.order.PushFront(u)
	if c.order.Len() > c.limit {
		oldest := c.order.Back()
		delete(c.byRef, oldest.Value.(*unit).ref)
		c.order.Remove(oldest)
	}
}
