package memory

import (
	"context"
	"sync"

	"github.com/slate-agents/slate/id"
)

// slot is one board's place in the store: its lock and, while the board exists,
// its data. A slot without data lives for as long as a transaction uses it, so a
// board that does not exist yet can be locked by its name.
type slot struct {
	ref   id.Ref
	users int     // transactions that hold or await the lock; guarded by Store.slotsMu
	data  *record // nil when there is no such board; guarded by Store.data

	mu    sync.Mutex
	held  int // -1 exclusively, otherwise the number of holders that share
	queue []*waiter
}

type waiter struct {
	shared bool
	ready  chan struct{}
}

// acquire takes the lock in order of arrival, or gives up with the context.
func (s *slot) acquire(ctx context.Context, shared bool) error {
	s.mu.Lock()
	if len(s.queue) == 0 && s.grantable(shared) {
		s.take(shared)
		s.mu.Unlock()
		return nil
	}
	w := &waiter{shared: shared, ready: make(chan struct{})}
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.queue {
		if other == w {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			s.admit() // those behind may share with the holders
			return ctx.Err()
		}
	}
	// The lock came in the same moment: give it back.
	s.drop(shared)
	return ctx.Err()
}

// release gives the lock back and lets in whoever is next.
func (s *slot) release(shared bool) {
	s.mu.Lock()
	s.drop(shared)
	s.mu.Unlock()
}

func (s *slot) grantable(shared bool) bool { return s.held == 0 || shared && s.held > 0 }

func (s *slot) take(shared bool) {
	if shared {
		s.held++
	} else {
		s.held = -1
	}
}

func (s *slot) drop(shared bool) {
	if shared {
		s.held--
	} else {
		s.held = 0
	}
	s.admit()
}

func (s *slot) admit() {
	for len(s.queue) > 0 && s.grantable(s.queue[0].shared) {
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.take(w.shared)
		close(w.ready)
	}
}
