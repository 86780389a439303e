package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/slate-agents/slate/wire"
)

// Main runs a body as a program that speaks the agent protocol, and exits: it reads
// the summons from standard input, gives it to the body, and leaves with status 0
// when the body returns nil, which acknowledges the summons, 1 when it returns an
// error, which goes to standard error and so to the agent's log, and 2 when standard
// input holds no summons.
//
// Standard output belongs to the protocol. While the body runs os.Stdout is standard
// error, so that a stray fmt.Println is a line of the log and not a broken call.
// SIGTERM, which comes when the deadline passes, and SIGINT cancel the body's context.
func Main(body Body) {
	out := os.Stdout
	os.Stdout = os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, os.Stdin, out, body)
	stop()
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "slate agent:", err)
	if errors.Is(err, ErrNoSummons) {
		os.Exit(2)
	}
	os.Exit(1)
}

// ErrNoSummons is what Run returns when its input does not begin with a summons:
// most often the program was started by hand.
var ErrNoSummons = errors.New("no summons on standard input; an agent program is started by slate run, which sends it one (see docs/agents.md)")

// Run is Main without the process: it reads one summons from in and runs the body
// with a surface whose calls go to out and whose results come from in. It returns
// the body's error as it is, ErrNoSummons, or an error of the connection. When it
// returns and every call was answered, nothing reads in any more.
//
// The surface may be used by several goroutines at once; calls are sent in the order
// they are made. A call whose context ends returns at once, though it may still take
// effect.
func Run(ctx context.Context, in io.Reader, out io.Writer, body Body) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	line, err := lines.ReadBytes('\n')
	if err != nil && (err != io.EOF || len(line) == 0) {
		if err == io.EOF {
			return ErrNoSummons
		}
		return fmt.Errorf("read the summons: %w", err)
	}
	// Not wire.Decode: a program must keep working when a later Slate adds a field.
	var s wire.Summons
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("%w: the first line is not one: %v", ErrNoSummons, err)
	}
	if s.Type != "summons" {
		return fmt.Errorf("%w: the first line has type %q", ErrNoSummons, s.Type)
	}
	if s.Protocol != wire.Protocol {
		return fmt.Errorf("the summons speaks protocol %d and this program speaks %d; build it with the matching release", s.Protocol, wire.Protocol)
	}
	return body(ctx, &s, newStdio(lines, out))
}
