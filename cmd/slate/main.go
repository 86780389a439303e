// Command slate runs machines and looks at boards. It parses, wires, runs and
// closes; what it does is in the packages it wires.
//
// Exit status: 0 done (of a run: a terminal state), 1 a defect, 2 bad input, 3
// refused, 4 a bound or limit ended the run, 130 interrupted.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/slate-agents/slate/internal/roster"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
)

// The exit statuses.
const (
	exitDone        = 0
	exitDefect      = 1
	exitInput       = 2
	exitRefused     = 3
	exitBound       = 4
	exitInterrupted = 130
)

// cli is the whole command line.
type cli struct {
	Output string `short:"o" enum:"text,json" default:"text" env:"SLATE_OUTPUT" help:"How to print: text, or json (one object a line)."`

	Run     runCmd     `cmd:"" help:"Run a machine with its agents, or resume it."`
	Board   boardCmd   `cmd:"" help:"Look at boards and write on them."`
	Machine machineCmd `cmd:"" help:"Check, draw, replay and migrate machines."`
	Call    callCmd    `cmd:"" help:"Call a method by name with a JSON body, or list the methods."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// app is what every command is given.
type app struct {
	ctx    context.Context
	stdout io.Writer
	stderr io.Writer
	stdin  io.Reader
	json   bool
}

// status ends a command with an exit status and no message of its own.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// input is bad input: a person's mistake, told in one line an error.
type input struct{ err error }

func (e input) Error() string { return e.err.Error() }
func (e input) Unwrap() error { return e.err }

func badInput(format string, args ...any) error { return input{fmt.Errorf(format, args...)} }

func main() {
	// A variable that is set to nothing says nothing.
	for _, name := range []string{"SLATE_OUTPUT", "SLATE_DATA"} {
		if os.Getenv(name) == "" {
			os.Unsetenv(name)
		}
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program with everything it touches as arguments.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	var c cli
	parser, err := kong.New(&c, kong.Name("slate"),
		kong.Description("A governed blackboard and control plane for AI agents."),
		kong.UsageOnError(), kong.Writers(stdout, stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(n int) { panic(status(n)) }))
	if err != nil {
		fmt.Fprintln(stderr, "slate:", err)
		return exitDefect
	}
	// Asking for help ends the parser from within.
	defer func() {
		if v := recover(); v != nil {
			s, ok := v.(status)
			if !ok {
				panic(v)
			}
			code = int(s)
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "slate: %v (slate --help lists the commands)\n", err)
		return exitInput
	}
	a := &app{ctx: ctx, stdout: stdout, stderr: stderr, stdin: stdin, json: c.Output == "json"}
	return a.exit(parsed.Run(a))
}

// exit prints an error and returns the exit status it stands for.
func (a *app) exit(err error) int {
	var s status
	var bad input
	var load *machine.LoadError
	var names *roster.Error
	r, refused := refusal.As(err)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		return int(s)
	case errors.Is(err, context.Canceled) && a.ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "slate: interrupted; what was answered is on the record, and the same command goes on from there")
		return exitInterrupted
	case refused:
		a.complain(r, r.Error())
		return exitRefused
	case errors.As(err, &load), errors.As(err, &names):
		a.complain(refusal.New(refusal.MachineInvalid, "", "%s", err), err.Error())
		return exitInput
	case errors.As(err, &bad):
		a.complain(refusal.New(refusal.InvalidRequest, "", "%s", err), "slate: "+err.Error())
		return exitInput
	}
	a.complain(refusal.New("DEFECT", "", "%s", err), "slate: "+err.Error())
	return exitDefect
}

// complain prints a refusal as JSON or as the line a person reads.
func (a *app) complain(r *refusal.Refusal, line string) {
	if a.json {
		_ = writeJSON(a.stderr, map[string]any{"error": r})
		return
	}
	fmt.Fprintln(a.stderr, safe(line))
}

// print writes one JSON object a line, or what text prints.
func (a *app) print(v any, text func(w io.Writer) error) error {
	if !a.json {
		return text(a.stdout)
	}
	return writeJSON(a.stdout, v)
}

// writeJSON writes a value on a line of its own. Characters that a terminal may act
// on are written as escapes, which change nothing of the value.
func writeJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	var out bytes.Buffer
	for _, r := range string(line) {
		if timeline.Unsafe(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.WriteRune(r)
		}
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	v := struct {
		Version string `json:"version"`
		Go      string `json:"go"`
	}{"unknown", "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version, v.Go = info.Main.Version, info.GoVersion
	}
	return a.print(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "slate %s (%s)\n", v.Version, v.Go)
		return err
	})
}
