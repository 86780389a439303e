//go:build unix

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// lockRun makes this process the only one that runs a board of a data folder. The
// lock goes with the process, however it ends: holding it proves that whoever ran
// the board before is dead.
func lockRun(data string, b id.Board) (unlock func(), err error) {
	path := filepath.Join(data, fmt.Sprintf("run-%.8x.lock", sha256.Sum256([]byte(b))))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the run's lock file: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, refusal.New(refusal.StoreBusy, string(b), "another process runs board %q in %s", b, data).
				WithFix("wait for it to end, look on with slate board tail, or run on another board with --board")
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
