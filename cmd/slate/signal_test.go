//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/slate-agents/slate/id"
)

// TestInterrupted: an interrupt ends the run in order, with its own exit status, and
// leaves nobody behind; the same command goes on from there, in the same attempt.
func TestInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata/gate")); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(dir, "gate.pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &subject{t: t, slate: "slate", dir: dir, board: "gate", mark: id.New()}
			s.env = []string{"GATE=" + dir}
			marked, err := os.ReadFile(filepath.Join(dir, "agents.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			marked = bytes.ReplaceAll(marked, []byte("env: {"), []byte(`env: { MARK: "${MARK}",`))
			if err := os.WriteFile(filepath.Join(dir, "agents.yaml"), marked, 0o600); err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(dir, "data")

			l := s.start(data)
			appears(t, filepath.Join(dir, "gate.reached"))
			if err := l.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := <-l.ended; !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
				t.Fatalf("%v\n%s", err, l.out.String())
			}
			if want := "slate: interrupted; what was answered is on the record, and the same command goes on from there\n"; !strings.HasSuffix(l.out.String(), want) {
				t.Errorf("%s", l.out.String())
			}
			s.alone()

			// The gate is open now.
			gate, err := os.OpenFile(filepath.Join(dir, "gate.pipe"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer gate.Close()
			fmt.Fprintln(gate, "go")
			again := s.start(data)
			if err := <-again.ended; err != nil {
				t.Fatalf("%v\n%s", err, again.out.String())
			}
			for _, want := range []string{"resumed   board gate at position 8", "again   greeter is summoned again", "write   greeter: greeting = Good day.", "ended in done"} {
				if !strings.Contains(again.out.String(), want) {
					t.Errorf("the second life lacks %q:\n%s", want, again.out.String())
				}
			}
			if strings.Contains(again.out.String(), "attempt 2") {
				t.Errorf("another attempt was made:\n%s", again.out.String())
			}
			s.story(data) // verifies
		})
	}
}

// appears waits until another process has made a file.
func appears(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not appear", file)
		}
	}
}

// TestTerminal runs slate on a terminal of 60 columns: in colour, and cut to it.
func TestTerminal(t *testing.T) {
	master, terminal := openTerminal(t, 60)
	cmd := exec.Command("slate", "run", "testdata/greet", "--data", filepath.Join(t.TempDir(), "data"))
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	// Reading a terminal that nobody writes to any more is an error, not an end.
	out, err := io.ReadAll(master)
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"\x1b[1mopened    machine greet\x1b[0m", "\x1b[1m\x1b[36mstate     greet\x1b[0m", "\x1b[1m\x1b[32mended     in done\x1b[0m"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("no %q in\n%q", want, out)
		}
	}
	timeline, _, ok := strings.Cut(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(string(out), ""), "\r\n\r\n")
	if !ok {
		t.Fatalf("%q", out)
	}
	cut := 0
	for _, line := range strings.Split(timeline, "\r\n")[1:] {
		if n := utf8.RuneCountInString(line); n >= 60 {
			t.Errorf("%d characters: %q", n, line)
		}
		if strings.HasSuffix(line, "…") {
			cut++
		}
	}
	if cut == 0 {
		t.Errorf("nothing was cut:\n%s", timeline)
	}
}

// openTerminal opens a pseudo-terminal: what is written to terminal is read from
// master.
func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return master, terminal
}
