package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/id"
)

// openBoardsRows measure what a thousand open boards keep in memory. A process of its
// own measures it, so that nothing else was ever in its memory.
func openBoardsRows(b *bench) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(b.ctx, self, "-open-boards", b.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var m held
	if err := json.Unmarshal(out, &m); err != nil {
		return err
	}
	const most = 64
	b.add(row{what: "1,000 open boards with 10 agents each, SQLite, every board written once", target: "≤ 64 MiB above idle",
		result: fmt.Sprintf("%.1f MiB resident, %.1f MiB of it Go's heap", mib(m.Resident), mib(m.Heap)),
		met:    mib(m.Resident) <= most && mib(m.Heap) <= most})
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// held is what a process holds above what it held idle, in bytes.
type held struct{ Resident, Heap int64 }

// openBoards opens the boards and prints what they hold.
func openBoards(ctx context.Context, dir string) error {
	sys, err := slate.Open(ctx, slate.Options{Data: dir + "/open-boards"})
	if err != nil {
		return err
	}
	defer sys.Close()
	// Idle is a system that has done everything once.
	if err := openBoard(ctx, sys, "warm"); err != nil {
		return err
	}
	before, err := holding()
	if err != nil {
		return err
	}
	for i := range 1000 {
		if err := openBoard(ctx, sys, id.Board(fmt.Sprintf("board-%04d", i))); err != nil {
			return err
		}
	}
	after, err := holding()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(held{after.Resident - before.Resident, after.Heap - before.Heap})
}

// openBoard makes a board whose agents are woken, and writes to it, so that the
// writer holds its state and every agent has been told.
func openBoard(ctx context.Context, sys *slate.System, name id.Board) error {
	b, err := makeBoard(ctx, sys, name, boardSpec{agents: 10, notify: acknowledging})
	if err != nil {
		return err
	}
	return (&premiseWriter{ctx: ctx, b: b}).write()
}

// holding is what the process holds once what is garbage has gone back.
func holding() (held, error) {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	rss, err := resident()
	return held{Resident: rss, Heap: int64(m.HeapAlloc)}, err
}
