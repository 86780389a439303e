//go:build unix

package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slate-agents/slate/internal/program"
)

func TestEnvironmentIsExplicit(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hidden")
	t.Setenv("TZ", "UTC")
	a := newAttempt(t, `env | sed 's/=.*//' | sort | tr '\n' ' ' >&2; echo "=$SLATE_AGENT $SLATE_STATE $SLATE_MACHINE $MINE $TZ" >&2`)
	a.command.Env = []string{"MINE=1", "TZ=Europe/Berlin"}
	a.run().acknowledged()
	names, values, _ := strings.Cut(a.events.logs()[0], "=")
	for _, name := range strings.Fields(names) {
		switch name {
		case "PATH", "HOME", "LANG", "TMPDIR", "TZ", "MINE", "PWD", "OLDPWD", "SHLVL", "_":
		default:
			if !strings.HasPrefix(name, "SLATE_") {
				t.Errorf("the program sees %s", name)
			}
		}
	}
	if values != "log_analyst investigate test 1 Europe/Berlin" {
		t.Errorf("%q", values)
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain.sh", "#!/bin/sh\n", 0o644)
	orphan := file("orphan.sh", "#!/no/such/interpreter\n", 0o755)
	blob := file("blob", "no first line\n", 0o755)
	for _, c := range []struct {
		name      string
		cmd       program.Command
		says, fix string
		late      bool
	}{
		{"nothing", program.Command{}, "no program is named", "name an executable", false},
		{"missing", program.Command{Args: []string{"./nope"}, Dir: dir}, "there is no such file", "relative", false},
		{"not in PATH", program.Command{Args: []string{"no-such-program"}}, "in PATH", "install it", false},
		{"not executable", program.Command{Args: []string{plain}}, "not executable", "chmod +x " + plain, false},
		{"directory", program.Command{Args: []string{dir}}, "is a directory", "name the executable", false},
		{"no interpreter", program.Command{Args: []string{orphan}}, "interpreter", "install", true},
		{"no format", program.Command{Args: []string{blob}}, "does not know how to run", "#!/bin/sh", true},
		{"no directory", program.Command{Args: []string{"sh"}, Dir: filepath.Join(dir, "none")}, "working directory", "create", false},
		{"file as directory", program.Command{Args: []string{"sh"}, Dir: plain}, "working directory", "create", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := program.Check(c.cmd); (err != nil) == c.late {
				t.Errorf("Check: %v", err)
			}
			b := newSurface()
			seen := &events{}
			err := program.Body(c.cmd, seen.add)(t.Context(), b.Summons("investigate", "Find out."), b)
			var cannot *program.CannotStart
			if !errors.As(err, &cannot) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.fix) {
				t.Errorf("%v; want it to say %q and %q", err, c.says, c.fix)
			}
			if len(seen.all()) != 0 {
				t.Errorf("events of a program that never ran: %+v", seen.all())
			}
		})
	}
	if err := program.Check(program.Command{Args: []string{"./plain.sh"}, Dir: dir}); err == nil || !strings.Contains(err.Error(), plain) {
		t.Errorf("the full path is not named: %v", err)
	}
}

func TestASummonsThatIsOverStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := newSurface()
	err := program.Body(program.Command{Args: []string{"sh", "-c", "exit 0"}}, nil)(ctx, b.Summons("investigate", "Find out."), b)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
