//go:build unix

package lockfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Wait takes the lock, waiting for whoever holds it. Inside a process it excludes
// too: each call opens the file anew.
func Wait(path string) (unlock func(), err error) {
	unlock, _, err = take(path, unix.LOCK_EX)
	return unlock, err
}

// Try takes the lock if nobody holds it; held says that it was taken.
func Try(path string) (unlock func(), held bool, err error) {
	return take(path, unix.LOCK_EX|unix.LOCK_NB)
}

func take(path string, how int) (func(), bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		return func() { f.Close() }, true, nil
	}
	f.Close()
	if err == unix.EWOULDBLOCK {
		return nil, false, nil
	}
	return nil, false, &os.PathError{Op: "lock", Path: path, Err: err}
}
