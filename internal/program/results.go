package program

import (
	"context"
	"io"
	"sync"
)

// results is the queue between the calls and the program's standard input. The
// program may read as late as it likes or never: calls go on until the results that
// wait exceed the limit, and only then does put wait.
type results struct {
	most int
	// full is called once, when put waits for the first time.
	full func()
	stop chan struct{} // closed by close and when the program no longer reads
	once sync.Once

	mu      sync.Mutex
	lines   [][]byte
	bytes   int
	stalled bool
	changed chan struct{} // has room for one: something was put or taken
	taken   chan struct{}
}

func newResults(most int, full func()) *results {
	return &results{most: most, full: sync.OnceFunc(full), stop: make(chan struct{}), changed: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// put queues a line. While too much waits it blocks, until the program reads, can no
// longer read, or ctx ends; then the line is dropped. Only one goroutine may put.
func (r *results) put(ctx context.Context, line []byte) {
	for {
		r.mu.Lock()
		if r.bytes == 0 || r.bytes+len(line) <= r.most {
			r.stalled = false
			r.lines = append(r.lines, line)
			r.bytes += len(line)
			r.mu.Unlock()
			signal(r.changed)
			return
		}
		r.stalled = true
		r.mu.Unlock()
		r.full()
		select {
		case <-r.taken:
		case <-r.stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// isStalled says whether the last put is waiting or was given up.
func (r *results) isStalled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stalled
}

// run writes queued lines to the program until close or until the program cannot
// read any more, which is the program's own business and no error.
func (r *results) run(to io.Writer) {
	for {
		r.mu.Lock()
		var line []byte
		if len(r.lines) > 0 {
			line, r.lines = r.lines[0], r.lines[1:]
		}
		r.mu.Unlock()
		if line == nil {
			select {
			case <-r.changed:
				continue
			case <-r.stop:
				return
			}
		}
		if _, err := to.Write(line); err != nil {
			r.close()
			return
		}
		r.mu.Lock()
		r.bytes -= len(line)
		r.mu.Unlock()
		signal(r.taken)
	}
}

// close ends run and every put.
func (r *results) close() { r.once.Do(func() { close(r.stop) }) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
