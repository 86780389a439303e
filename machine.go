package slate

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/runner"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// Event is one entry of a run's timeline.
type Event = timeline.Event

// RunOptions say which machine to run, on which board, with whom.
type RunOptions struct {
	// Machine is the document, loaded with machine.Load.
	Machine *machine.Definition
	// Board is the board to open or resume; empty means the machine's name.
	Board id.Board
	// Agents answers for every agent of the machine.
	Agents map[string]Agent
	// Limits are the run's own, beside the machine's policy, when it is opened here.
	Limits wire.RunLimits
	// Observe is told the timeline, one event at a time, in order. It must not block
	// for long.
	Observe func(Event)
}

// Agent is who answers an agent's summonses in this process.
type Agent struct {
	Body agent.Body
	// Timeout is how long one summons may take; 0 means a minute.
	Timeout time.Duration
}

// RunResult is how a machine run stands when RunMachine returns.
type RunResult struct {
	Board id.Board
	// Joined is set when the run had been opened before.
	Joined bool
	// End is how the machine ended; nil when something else closed the board's run,
	// which Outcome then tells.
	End     *machine.End
	Outcome *wire.Outcome
}

// RunMachine opens the machine's run on its board, or resumes the one there, and
// drives it until it ends or ctx does. Every contribution is durable before its
// agent is answered; a process that dies in between loses and repeats none. One
// process at a time runs a board, and another is refused STORE_BUSY; what a dead one
// held is taken over at once. Over a store of the caller's (New) it is taken over
// when its lease passes. The error is a *refusal.Refusal, ctx's error or a defect.
func (s *System) RunMachine(ctx context.Context, o RunOptions) (RunResult, error) {
	if o.Board == "" {
		o.Board = id.Board(o.Machine.Name)
	}
	agents := make(map[string]runner.Agent, len(o.Agents))
	for name, a := range o.Agents {
		agents[name] = runner.Agent{Body: a.Body, Timeout: a.Timeout}
	}
	if s.exclusive != nil {
		release, err := s.exclusive.take(ctx, o.Board)
		if err != nil {
			return RunResult{Board: o.Board}, err
		}
		defer release()
	}
	host, _ := os.Hostname()
	r, err := runner.Run(ctx, runner.Config{
		Boards: s.boards, Machines: s.machines, Principal: s.principal("application"),
		Board: o.Board, Definition: o.Machine, Limits: o.Limits, Agents: agents,
		Holder: fmt.Sprintf("%s/%d/%s", host, os.Getpid(), id.New()), Alone: s.exclusive != nil, Observe: o.Observe,
	})
	return RunResult{Board: o.Board, Joined: r.Joined, End: r.End, Outcome: r.Outcome}, err
}

// Replay folds the record of a machine's board up to a position; 0 means all of it.
func (b *Board) Replay(ctx context.Context, until id.Seq) (*machine.Run, error) {
	return b.s.machines.Replay(ctx, b.s.principal("application"), b.id, until)
}

// State describes a machine's run as it stood at a position; 0 means now.
func (b *Board) State(ctx context.Context, at id.Seq) (wire.MachineState, error) {
	run, err := b.Replay(ctx, at)
	if err != nil {
		return wire.MachineState{}, err
	}
	return machines.StateOf(b.id, run), nil
}

// Verify decides a machine's whole run again from the contributions alone and
// compares it with the record. ALTERED_RECORD names the first difference.
func (b *Board) Verify(ctx context.Context) (wire.Verified, error) {
	return b.s.machines.Verify(ctx, b.s.principal("application"), b.id)
}

// Diff shows what changed in a machine's run between two positions.
func (b *Board) Diff(ctx context.Context, r wire.Between) ([]machine.Change, error) {
	return b.s.machines.Diff(ctx, b.s.principal("application"), b.id, r)
}

// Migrate moves a machine's run to another definition after checking its state and
// fields; CANNOT_MIGRATE lists every obstacle.
func (b *Board) Migrate(ctx context.Context, to *machine.Definition) (wire.Standing, error) {
	return b.s.machines.Migrate(ctx, b.s.principal("application"), b.id, to)
}

// Timeline calls visit for every event of a machine's run that stands on the record
// after a cursor, and returns the cursor to continue with.
func (b *Board) Timeline(ctx context.Context, visit func(Event) error) error {
	return b.Follow(ctx, visit, nil)
}

// Follow is Timeline, and then waits for more: between reads it calls wait, and it
// ends when wait returns false. A nil wait ends it at the board's head.
func (b *Board) Follow(ctx context.Context, visit func(Event) error, wait func() bool) error {
	r := timeline.NewReader()
	cursor := ""
	for {
		page, err := b.Changes(ctx, wire.Page{Cursor: cursor, Limit: wire.MaxPage})
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			if event, ok := r.Read(e); ok {
				if err := visit(event); err != nil {
					return err
				}
			}
		}
		cursor = page.Next
		if !page.More && (wait == nil || !wait()) {
			return nil
		}
	}
}
