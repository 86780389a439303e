package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"slate": main})
}

// machines are the folders of testdata that every script finds beside its own files.
var machines = []string{"greet", "gate"}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GATE", env.WorkDir)
			env.Setenv("ESC", "\x1b")
			for _, name := range machines {
				if err := os.CopyFS(filepath.Join(env.WorkDir, name), os.DirFS(filepath.Join("testdata", name))); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ends":  endsCmd,
			"json":  jsonCmd,
			"gate":  gateCmd,
			"await": awaitCmd,
			"board": boardCmdOf,
			"holds": holdsCmd,
			"alter": alterCmd,
		},
	})
}

// endsCmd runs slate and holds it to an exit status: ends STATUS ARG...
func endsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ends STATUS ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("slate", args[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("slate %s left with exit status %d, want %d\n%s", strings.Join(args[1:], " "), got, want, ts.ReadFile("stderr"))
	}
}

// jsonCmd holds a file to be JSON objects, one a line: json FILE COUNT, where COUNT
// may be + for any number but none.
func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json FILE COUNT")
	}
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("%v: %q", err, line)
		}
		if strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) >= 0 {
			ts.Fatalf("a control character: %q", line)
		}
	}
	if args[1] != "+" && args[1] != strconv.Itoa(len(lines)) {
		ts.Fatalf("%d lines, want %s", len(lines), args[1])
	}
}

// gateCmd makes the pipe that an agent of the machine gate waits at: gate BOARD.
func gateCmd(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]+".pipe"), 0o600))
}

// awaitCmd waits until another process has made a file: await FILE.
func awaitCmd(ts *testscript.TestScript, neg bool, args []string) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, err := os.Stat(ts.MkAbs(args[0]))
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			ts.Fatalf("await %s: %v", args[0], err)
		}
	}
}

// boardCmdOf makes a board without a machine: board DATA NAME.
func boardCmdOf(ts *testscript.TestScript, neg bool, args []string) {
	ctx := context.Background()
	sys, err := slate.Open(ctx, slate.Options{Data: ts.MkAbs(args[0])})
	ts.Check(err)
	_, _, err = sys.Create(ctx, wire.CreateBoard{Board: id.Board(args[1]),
		Regions: []wire.RegionDecl{{Name: "log", Kind: wire.Level}, {Name: "goal", Kind: wire.Premise}},
		Agents:  []wire.AgentDecl{{Name: "watcher"}},
		Opening: []wire.Opening{{Region: "goal", Content: json.RawMessage(`"find out"`)}},
	}, board.Callables{})
	ts.Check(err)
	ts.Check(sys.Close())
}

// holdsCmd holds a folder to have exactly these entries: holds DIR ENTRY...
func holdsCmd(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, args[1:]) {
		ts.Fatalf("%s has %v, want %v", args[0], got, args[1:])
	}
}

// alterCmd replaces text in a file by text of the same length: alter FILE OLD NEW.
func alterCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: alter FILE OLD NEW, with OLD and NEW of one length")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, args[1]) != 1 {
		ts.Fatalf("%s has %q %d times", args[0], args[1], strings.Count(text, args[1]))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
}
