package program

import (
	"context"
	"io"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/wire"
)

// Serve is the protocol without a process: the summons and the results go to
// toProgram, calls come from fromProgram until it ends.
func Serve(ctx context.Context, s *wire.Summons, b agent.Surface, fromProgram io.Reader, toProgram io.Writer) error {
	bounds := Command{}.withDefaults().Bounds
	out := newResults(bounds.Unread, func() {})
	line, err := summonsLine(s)
	if err != nil {
		return err
	}
	out.put(ctx, line)
	written := make(chan struct{})
	go func() {
		defer close(written)
		out.run(toProgram)
	}()
	err = newSession(b, bounds, out, &observer{}, s).serve(ctx, fromProgram)
	out.close()
	<-written
	return err
}

// Answers returns the result lines to everything that a program wrote.
func Answers(ctx context.Context, s *wire.Summons, b agent.Surface, stdout io.Reader, bounds Bounds) ([][]byte, error) {
	bounds = Command{Bounds: bounds}.withDefaults().Bounds
	out := newResults(1<<30, func() {})
	err := newSession(b, bounds, out, &observer{}, s).serve(ctx, stdout)
	return out.lines, err
}
