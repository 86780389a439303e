//go:build !unix

package main

import (
	"errors"

	"github.com/slate-agents/slate/id"
)

// lockRun needs a lock that goes with the process.
func lockRun(string, id.Board) (func(), error) {
	return nil, errors.New("slate run needs a file lock that this system does not offer")
}
