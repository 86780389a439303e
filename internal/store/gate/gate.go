// Package gate counts the calls under way in something that can be closed, so
// that closing waits for them and later calls are refused. It must not know what
// the calls do.
package gate

import (
	"sync"

	"github.com/slate-agents/slate/refusal"
)

// Gate is open when zero. It is safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{}
}

// Enter counts one call in. After Close began it refuses with STOPPING; a call
// that was let in may still call Enter for another and is refused, never blocked.
func (g *Gate) Enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return refusal.New(refusal.Stopping, "", "the store is closed")
	}
	g.inside++
	return nil
}

// Leave counts one call out.
func (g *Gate) Leave() {
	g.mu.Lock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
	g.mu.Unlock()
}

// Close refuses later calls and waits for those inside. It reports whether this
// was the call that closed the gate.
func (g *Gate) Close() bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.closed = true
	if g.inside == 0 {
		g.mu.Unlock()
		return true
	}
	empty := make(chan struct{})
	g.empty = empty
	g.mu.Unlock()
	<-empty
	return true
}
