package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/internal/roster"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

type runCmd struct {
	Path   string `arg:"" help:"A machine's YAML file, or a folder with machine.yaml and agents.yaml."`
	Agents string `help:"The agents file. Default: agents.yaml beside the machine." placeholder:"FILE"`
	Board  string `help:"The board to open or resume. Default: the machine's name." placeholder:"NAME"`
	storeFlags
	New bool `help:"If the board's run has ended, open another board: NAME-2, NAME-3 and so on."`

	Idle      time.Duration `help:"Close the run when nothing happens for this long." placeholder:"DURATION"`
	WallClock time.Duration `help:"Close the run after this long whatever else is true." placeholder:"DURATION"`
}

func (c *runCmd) Run(a *app) error {
	// What can be said before anything is opened is said before anything is made.
	for _, limit := range []struct {
		name  string
		value time.Duration
	}{{"--idle", c.Idle}, {"--wall-clock", c.WallClock}} {
		if limit.value < 0 {
			return badInput("%s: %s is negative (leave it out to have no limit)", limit.name, limit.value)
		}
	}
	if c.Board != "" {
		if err := id.CheckName("--board", c.Board); err != nil {
			return badInput("%w", err)
		}
	}
	file, err := machineFile(c.Path)
	if err != nil {
		return err
	}
	def, err := loadMachine(file)
	if err != nil {
		return err
	}
	agentsFile := c.Agents
	if agentsFile == "" {
		agentsFile = filepath.Join(filepath.Dir(file), "agents.yaml")
	}
	team, err := loadRoster(agentsFile, def)
	if err != nil {
		return err
	}
	if c.Data == "" && c.Database == "" {
		c.Data = filepath.Join(filepath.Dir(file), defaultData)
	}
	sys, err := c.open(a)
	if err != nil {
		return err
	}
	err = c.run(a, sys, def, team)
	return errors.Join(err, sys.Close())
}

// run drives the machine on the right board and says how it ended.
func (c *runCmd) run(a *app, sys *slate.System, def *machine.Definition, team []roster.Agent) error {
	b, err := c.board(a, sys, def)
	if err != nil {
		return err
	}
	// A reader of the output that goes away must not take the run along: writes to it
	// fail from then on instead of ending the process.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)

	out := newTimeline(a)
	if !a.json {
		fmt.Fprintf(a.stdout, "machine %s, board %s, data in %s\n", def.Name, b, c.place())
	}
	agents := map[string]slate.Agent{}
	for _, m := range team {
		cmd := program.Command{Args: m.Command, Dir: m.Dir, Env: m.Env}
		agents[m.Name] = slate.Agent{Timeout: m.Timeout, Body: program.Body(cmd, out.program(m.Name))}
	}
	result, err := sys.RunMachine(a.ctx, slate.RunOptions{Machine: def, Board: b, Agents: agents,
		Limits: wire.RunLimits{Idle: c.Idle, WallClock: c.WallClock}, Observe: out.event})
	if err != nil {
		return err
	}
	return c.finish(a, sys, result)
}

// board is the board to run on.
func (c *runCmd) board(a *app, sys *slate.System, def *machine.Definition) (id.Board, error) {
	name := c.Board
	if name == "" {
		name = def.Name
	}
	if !c.New {
		return id.Board(name), nil
	}
	for n := 1; ; n++ {
		b := id.Board(name)
		if n > 1 {
			b = id.Board(fmt.Sprintf("%s-%d", name, n))
		}
		state, err := sys.Board(b).Show(a.ctx)
		if refusal.CodeOf(err) == refusal.UnknownBoard {
			return b, nil
		}
		if err != nil {
			return "", err
		}
		if state.Run != nil {
			return b, nil
		}
	}
}

// finish prints what the run came to and returns its exit status.
func (c *runCmd) finish(a *app, sys *slate.System, result slate.RunResult) error {
	final, err := sys.Board(result.Board).State(a.ctx, 0)
	if err != nil {
		return err
	}
	summary := runSummary{Event: "result", Data: c.place(), MachineState: final, Outcome: result.Outcome, at: c.storeFlags}
	// Whoever read the output may have left; the run ended as it did all the same.
	if err := a.print(summary, summary.print); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if result.End == nil || !result.End.Terminal {
		return status(exitBound)
	}
	return nil
}

// runSummary is how a run ended and where its record lies.
type runSummary struct {
	Event string `json:"event"`
	Data  string `json:"data"`
	wire.MachineState
	// Outcome is that of the board's run; absent while it is open.
	Outcome *wire.Outcome `json:"outcome,omitempty"`
	at      storeFlags
}

func (s runSummary) print(w io.Writer) error {
	fmt.Fprintln(w)
	switch {
	case s.Ended != nil && s.Ended.Terminal:
		fmt.Fprintf(w, "ended in %s\n", s.State)
	case s.Ended != nil:
		fmt.Fprintf(w, "ended in %s: %s: %s\n", s.State, s.Ended.Reason, s.Ended.Message)
	case s.Outcome != nil:
		fmt.Fprintf(w, "the run was closed in %s: %s %s\n", s.State, s.Outcome.Kind, s.Outcome.Reason)
	}
	if err := printContext(w, s.Context); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nthe record: board %s, %d entries, in %s\n  slate board tail %s%s\n",
		s.Board, s.Position, s.at.file(), shellWord(string(s.Board)), s.at.again())
	return err
}

// shellWord is a text as one word of a shell's command line.
func shellWord(s string) string {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+=,", r) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}

// printContext prints fields as a person reads them.
func printContext(w io.Writer, fields []wire.Field) error {
	for _, f := range fields {
		fmt.Fprintf(w, "\n%s\n", f.Field)
		for _, e := range f.Entries {
			key := ""
			if e.Key != "" {
				key = "[" + e.Key + "] "
			}
			// No field takes null: where it stands, something else stood.
			value := "[erased]"
			if string(e.Value) != "null" {
				value = strings.ReplaceAll(plain(e.Value), "\n", "\n    ")
			}
			if _, err := fmt.Fprintf(w, "  %s%s  (%s, position %d)\n", key, value, e.Writer, e.Seq); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain is a JSON value as a person reads it, without terminal control.
func plain(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		s = string(v)
	}
	return safe(s)
}

// safe keeps the line breaks of a text and makes the rest of it safe for a terminal.
func safe(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = timeline.Safe(line)
	}
	return strings.Join(lines, "\n")
}

// machineFile is the document that a path means.
func machineFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", badInput("%s: %w (name a machine's YAML file, or a folder with machine.yaml)", path, cause(err))
	}
	if !info.IsDir() {
		return path, nil
	}
	file := filepath.Join(path, "machine.yaml")
	if _, err := os.Stat(file); err != nil {
		return "", badInput("%s: the folder has no machine.yaml (name the machine's file itself)", path)
	}
	return file, nil
}

// cause is what went wrong without the path, which the message names already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func loadMachine(file string) (*machine.Definition, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, badInput("%s: %w", file, cause(err))
	}
	return machine.Load(file, data)
}

// loadRoster reads the agents file and holds it against the machine: every agent of
// the machine has a program that can be started, and nobody else is named.
func loadRoster(file string, def *machine.Definition) ([]roster.Agent, error) {
	team, err := roster.Load(file, os.LookupEnv)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			return nil, badInput("%s: %w (it says which program answers for which agent; --agents names another file)", file, p.Err)
		}
		return nil, err
	}
	known := map[string]bool{}
	var names []string
	for _, ag := range def.Agents {
		known[ag.Name] = true
		names = append(names, ag.Name)
	}
	var problems []string
	for _, m := range team {
		if !known[m.Name] {
			problems = append(problems, fmt.Sprintf("%s:%d: agent %q is not in machine %s (it has %s)", file, m.Line, m.Name, def.Name, refusal.List(names)))
		}
		delete(known, m.Name)
		if err := program.Check(program.Command{Args: m.Command, Dir: m.Dir, Env: m.Env}); err != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: agent %q: %v", file, m.Line, m.Name, err))
		}
	}
	for _, name := range names {
		if known[name] {
			problems = append(problems, fmt.Sprintf("%s: agent %q of machine %s has no entry", file, name, def.Name))
		}
	}
	if len(problems) > 0 {
		return nil, &roster.Error{Problems: problems}
	}
	return team, nil
}

// timelineOut prints a run as it happens.
type timelineOut struct {
	mu      sync.Mutex
	a       *app
	printer *timeline.Printer
}

func newTimeline(a *app) *timelineOut {
	return &timelineOut{a: a, printer: timeline.NewPrinter(a.stdout, terminalWidth(a.stdout))}
}

// terminalWidth is the width of a terminal, 0 when w is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		return 80
	}
	return width
}

// event prints one event. An output that is gone does not stop the run.
func (t *timelineOut) event(e timeline.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.a.print(e, func(io.Writer) error { return t.printer.Print(e) })
}

// program turns what an agent's program did into events. Refusals of the surface are
// told by the run itself.
func (t *timelineOut) program(agent string) func(program.Event) {
	return func(e program.Event) {
		out := timeline.Event{Agent: agent, At: time.Now().UTC(), Text: e.Line}
		switch {
		case e.Kind == program.Log:
			out.Kind = timeline.Logged
		case e.Kind == program.Stalled:
			out.Kind, out.Text = timeline.Logged, "[it does not read its results: its calls wait until it does]"
		case e.Kind == program.Refused && e.Protocol:
			out.Kind, out.Refusal = timeline.Refused, e.Refusal
		default:
			return
		}
		t.event(out)
	}
}
