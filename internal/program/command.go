// Package program runs somebody's executable as an agent: it gives the program one
// summons on standard input, carries its calls to a surface and the results back,
// and says how it ended (docs/agents.md is the protocol). Whatever the program does,
// a run ends within its context's life and a grace, and leaves no process behind.
//
// It may import agent, wire, refusal and id. It must not know a board, a machine, a
// store or who starts the run: a surface and a summons are all it gets.
package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slate-agents/slate/wire"
)

// Command says which program to run, and how much it may ask of Slate. The zero
// value of every field but Args has a meaning.
type Command struct {
	// Args are the program and its arguments. A program without a slash is looked up
	// in Slate's own PATH; a relative one with a slash is taken from Dir.
	Args []string
	// Dir is the program's working directory; empty is Slate's own.
	Dir string
	// Env holds KEY=value pairs that the program gets besides PATH, HOME, LANG,
	// TMPDIR, TZ and the SLATE_ ones. A pair given here wins. Nothing else of
	// Slate's environment reaches the program.
	Env []string
	// Grace is how long the program has between SIGTERM and SIGKILL; 0 means
	// DefaultGrace.
	Grace time.Duration
	// Bounds are those of one summons.
	Bounds Bounds
}

// DefaultGrace is the time a program has to leave after SIGTERM.
const DefaultGrace = 5 * time.Second

// Bounds limits what one program may ask and say during one summons. A zero field
// means the default.
type Bounds struct {
	// Calls is the most lines the program may write (10,000); the next one ends the
	// attempt.
	Calls int
	// BadLines is the most lines that are no acceptable call (100); the next one
	// ends the attempt.
	BadLines int
	// Unread is the most bytes of results that wait for the program to read them
	// (64 MiB). Beyond it no more calls are read until it does.
	Unread int
	// LogLines is the most lines of standard error that become events (1,000); the
	// rest is counted. LogBytes is the most bytes of one (4 KiB); the rest is cut.
	LogLines, LogBytes int
	// Drain is how long Slate waits, once the program has ended, for output that a
	// process of its making still holds open (500 ms).
	Drain time.Duration
}

// withDefaults fills in what was left zero.
func (c Command) withDefaults() Command {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&c.Bounds.Calls, 10_000)
	set(&c.Bounds.BadLines, 100)
	set(&c.Bounds.Unread, 64<<20)
	set(&c.Bounds.LogLines, 1_000)
	set(&c.Bounds.LogBytes, 4<<10)
	if c.Bounds.Drain <= 0 {
		c.Bounds.Drain = 500 * time.Millisecond
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	return c
}

// Check returns nil when the program can be found and may be executed, and otherwise
// a *CannotStart. A later start can still fail, with the same type.
func Check(cmd Command) error {
	_, err := cmd.resolve()
	return err
}

// resolve returns the program's full path.
func (c Command) resolve() (string, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return "", &CannotStart{Problem: "no program is named", Fix: "name an executable and its arguments"}
	}
	name := c.Args[0]
	if c.Dir != "" {
		info, err := os.Stat(c.Dir)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return "", &CannotStart{Path: name, Problem: "its working directory " + c.Dir + " cannot be used",
				Fix: "create the directory or name another", Err: err}
		}
	}
	path := name
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return "", &CannotStart{Path: path, Problem: "its path cannot be told", Fix: "name it by its full path", Err: err}
		}
		path = full
	}
	found, err := exec.LookPath(path)
	if err == nil {
		return found, nil
	}
	return "", explain(path, err)
}

// explain turns the system's error into one that says what to do.
func explain(path string, err error) *CannotStart {
	out := &CannotStart{Path: path, Problem: "it cannot be started", Fix: "start it by hand to see why", Err: err}
	info, statErr := os.Stat(path)
	exists := statErr == nil
	switch {
	case exists && info.IsDir():
		out.Problem, out.Fix = "it is a directory", "name the executable inside it"
	case exists && errors.Is(err, fs.ErrPermission):
		out.Problem, out.Fix = "it is not executable", "run chmod +x "+path+", or put its interpreter first in the command"
	case exists && errors.Is(err, syscall.ENOEXEC):
		out.Problem, out.Fix = "the system does not know how to run it", "give it a first line such as #!/bin/sh, or put its interpreter first in the command"
	case exists && errors.Is(err, fs.ErrNotExist):
		out.Problem, out.Fix = "the interpreter that its first line names does not exist", "correct the #! line, or install the interpreter"
	case errors.Is(err, exec.ErrNotFound) && !strings.ContainsRune(path, filepath.Separator):
		out.Problem, out.Fix = "no such program is in PATH", "install it, or name it by its path"
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		out.Problem, out.Fix = "there is no such file", "check the path; a relative one is taken from the command's directory"
	}
	return out
}

// inherited are the variables of Slate's environment that a program gets.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR", "TZ"}

// environment is the program's whole environment.
func (c Command) environment(s *wire.Summons) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, pair := range [][2]string{
		{"SLATE_BOARD", string(s.Board)},
		{"SLATE_MACHINE", s.Machine},
		{"SLATE_STATE", s.State},
		{"SLATE_AGENT", s.Agent},
		{"SLATE_ENTRY", strconv.Itoa(s.Entry)},
		{"SLATE_ATTEMPT", strconv.Itoa(s.Attempt)},
		{"SLATE_DEADLINE", s.Deadline.UTC().Format(time.RFC3339)},
	} {
		env = append(env, pair[0]+"="+strings.ReplaceAll(pair[1], "\x00", ""))
	}
	return append(env, c.Env...)
}

// CannotStart says that a program never ran. Trying again without a change is of no
// use.
type CannotStart struct {
	// Path is the program as far as it was found.
	Path string
	// Problem and Fix are for a person.
	Problem, Fix string
	Err          error
}

func (e *CannotStart) Error() string {
	text := "agent program " + strconv.Quote(e.Path) + ": " + e.Problem
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text + ": " + e.Fix
}

func (e *CannotStart) Unwrap() error { return e.Err }
