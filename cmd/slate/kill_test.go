//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/timeline"
)

var (
	seed  = flag.Uint64("seed", 0, "the seed of the moments at which runs are killed; 0 draws one")
	kills = flag.Int("kills", 50, "at how many moments runs are killed")
)

// subject is a machine with its agents that runs are made of.
type subject struct {
	t *testing.T
	// slate is the program that runs it.
	slate string
	dir   string
	board id.Board
	// mark is in the environment of every agent of the subject.
	mark string
	env  []string
	// want is what a run that nobody disturbed left on the record; takes is how long
	// it took.
	want  []string
	takes time.Duration
}

// life is one process that runs a subject, and what it said.
type life struct {
	cmd   *exec.Cmd
	ended chan error
	out   bytes.Buffer
}

func (s *subject) start(data string) *life {
	s.t.Helper()
	l := &life{cmd: exec.Command(s.slate, "run", s.dir, "--data", data), ended: make(chan error, 1)}
	l.cmd.Env = append(append(os.Environ(), "MARK="+s.mark), s.env...)
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.out
	if err := l.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { l.ended <- l.cmd.Wait() }()
	return l
}

// finish lets a run go on to its end, which must be a good one.
func (s *subject) finish(data string) {
	s.t.Helper()
	l := s.start(data)
	if err := <-l.ended; err != nil {
		s.t.Fatalf("the run did not end well: %v\n%s", err, l.out.String())
	}
}

// killAfter starts the run and kills it after a while. It returns false when the run
// ended before.
func (s *subject) killAfter(data string, wait time.Duration) bool {
	s.t.Helper()
	l := s.start(data)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err := <-l.ended:
		if err != nil {
			s.t.Fatalf("the run did not end well: %v\n%s", err, l.out.String())
		}
		return false
	case <-timer.C:
	}
	if err := syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.t.Fatal(err)
	}
	err := <-l.ended
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
		s.t.Fatalf("the run was not killed: %v\n%s", err, l.out.String())
	}
	s.alone()
	return err != nil
}

// alone waits until no process has the subject's mark in its environment.
func (s *subject) alone() {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var left []string
		environs, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil || len(environs) == 0 {
			s.t.Fatalf("/proc: %v", err)
		}
		for _, file := range environs {
			// A process that has gone meanwhile has no environment to read.
			if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, []byte("MARK="+s.mark)) {
				left = append(left, file)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("processes were left behind: %v", left)
		}
	}
}

// story is what is on the record of a run that has ended: every contribution with its
// state entry, each removal, the transitions. What happened in one entry is sorted:
// the agents of an entry work at once. The record must verify.
func (s *subject) story(data string) []string {
	s.t.Helper()
	ctx := context.Background()
	sys, err := slate.Open(ctx, slate.Options{Data: data})
	if err != nil {
		s.t.Fatal(err)
	}
	defer sys.Close()
	b := sys.Board(s.board)
	if _, err := b.Verify(ctx); err != nil {
		s.t.Errorf("the record does not verify: %v", err)
	}
	var lines []string
	err = b.Timeline(ctx, func(e slate.Event) error {
		switch e.Kind {
		case timeline.Wrote, timeline.Cleared, timeline.Entered, timeline.Ended:
			lines = append(lines, fmt.Sprintf("%02d %s %s %s%s %s %s", e.Entry, e.Kind, e.State, e.Field, e.Key, e.Agent, e.Value))
		case timeline.Fired:
			lines = append(lines, fmt.Sprintf("%02d %s %s %s %v", e.Entry, e.Kind, e.State, e.To, e.Guards))
		case timeline.Summoned:
			if e.Attempt > 1 {
				lines = append(lines, fmt.Sprintf("%02d attempt %d of %s", e.Entry, e.Attempt, e.Agent))
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// same holds a run's record against the undisturbed one.
func (s *subject) same(data string) {
	s.t.Helper()
	got := s.story(data)
	if slices.Equal(got, s.want) {
		return
	}
	for _, line := range got {
		if count(got, line) > count(s.want, line) {
			s.t.Errorf("too much: %s", line)
		}
	}
	for _, line := range s.want {
		if count(s.want, line) > count(got, line) {
			s.t.Errorf("missing: %s", line)
		}
	}
	s.t.FailNow()
}

func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// undisturbed runs the subject twice from end to end and keeps what the runs left.
func (s *subject) undisturbed() {
	s.t.Helper()
	data := filepath.Join(s.t.TempDir(), "undisturbed")
	begin := time.Now()
	s.finish(data)
	s.takes = time.Since(begin)
	s.want = s.story(data)
	again := filepath.Join(s.t.TempDir(), "again")
	begin = time.Now()
	s.finish(again)
	s.takes = min(s.takes, time.Since(begin))
	s.same(again)
	s.t.Logf("a run takes %s and leaves %d lines", s.takes, len(s.want))
}

// built is the program as people have it. The tests' own copy of it does for the
// other tests; under the race detector it is too slow to be started so often.
func built(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "slate")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// moments draws the moments, and says how to draw the same again.
func moments(t *testing.T) *rand.Rand {
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	t.Logf("to kill at the same moments again: -seed %d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// TestKilledAndResumed kills runs at random moments, from right after the start to
// right before the end: half of the kills go to runs that are killed once, half to
// runs that are killed again and again.
func TestKilledAndResumed(t *testing.T) {
	s := &subject{t: t, slate: built(t), dir: "testdata/crew", board: "crew", mark: id.New()}
	s.undisturbed()
	r := moments(t)
	root := t.TempDir()

	killed, runs := 0, 0
	for ; killed < *kills/2; runs++ {
		data := filepath.Join(root, fmt.Sprint("once-", runs))
		if s.killAfter(data, time.Duration(r.Int64N(int64(s.takes)))) {
			killed++
		}
		s.finish(data)
		s.same(data)
	}
	t.Logf("%d runs, %d of them killed once", runs, killed)

	again := 0
	for ; killed < *kills; again++ {
		data := filepath.Join(root, fmt.Sprint("often-", again))
		// Every other life is too short to do much, so that many fit into a run.
		for killed < *kills && s.killAfter(data, time.Duration(r.Int64N(int64(s.takes)/2))) {
			killed++
		}
		s.finish(data)
		s.same(data)
	}
	t.Logf("%d more runs took the other kills", again)
	s.alone()
}

// TestIncidentKilledAndResumed does so to the example, with its programs.
func TestIncidentKilledAndResumed(t *testing.T) {
	example, err := filepath.Abs("../../examples/incident")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"machine.yaml", "agents.yaml"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		// The mark goes where the programs are told which files to look at.
		marked := strings.ReplaceAll(string(text), "env: {", "env: { MARK: \"${MARK}\",")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(marked), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "bin")+"/", "github.com/slate-agents/slate/examples/incident/agents/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &subject{t: t, slate: built(t), dir: dir, board: "incident-blackboard", mark: id.New(),
		env: []string{"INCIDENT_DATA=" + filepath.Join(example, "captures", "a")}}
	s.undisturbed()
	r := moments(t)
	data := filepath.Join(t.TempDir(), "data")
	killed := 0
	for killed < 10 && s.killAfter(data, time.Duration(r.Int64N(int64(s.takes)))) {
		killed++
	}
	t.Logf("killed %d times", killed)
	s.finish(data)
	s.same(data)
	s.alone()
}
