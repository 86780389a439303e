//go:build !unix

package lockfile

import "sync"

// Without a lock of the system that goes with the process, the callers of this
// process alone exclude each other; other processes are not seen.
var (
	mu    sync.Mutex
	locks = map[string]*sync.Mutex{}
)

func lock(path string) *sync.Mutex {
	mu.Lock()
	defer mu.Unlock()
	if locks[path] == nil {
		locks[path] = &sync.Mutex{}
	}
	return locks[path]
}

// Wait takes the lock, waiting for whoever holds it.
func Wait(path string) (unlock func(), err error) {
	l := lock(path)
	l.Lock()
	return l.Unlock, nil
}

// Try takes the lock if nobody holds it; held says that it was taken.
func Try(path string) (unlock func(), held bool, err error) {
	l := lock(path)
	if !l.TryLock() {
		return nil, false, nil
	}
	return l.Unlock, true, nil
}
