//go:build unix

package program_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slate-agents/slate/agent/agenttest"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/refusal"
)

// attempt runs a shell script for one summons.
type attempt struct {
	*testing.T
	surface *agenttest.Surface
	events  *events
	command program.Command
	ctx     context.Context
	err     error
}

func newAttempt(t *testing.T, script string) *attempt {
	a := &attempt{T: t, surface: newSurface(), events: &events{on: map[string]func(){}}, ctx: t.Context()}
	a.command = program.Command{Args: []string{"sh", "-c", script}, Grace: time.Minute}
	return a
}

// cancel makes the attempt's context end when the returned function is called.
func (a *attempt) cancel(cause error) func() {
	ctx, cancel := context.WithCancelCause(a.ctx)
	a.Cleanup(func() { cancel(nil) })
	a.ctx = ctx
	return func() { cancel(cause) }
}

// cancelOn ends the context when the program logs a line.
func (a *attempt) cancelOn(line string, cause error) { a.events.on[line] = a.cancel(cause) }

func (a *attempt) run() *attempt {
	a.Helper()
	s := a.surface.Summons("investigate", "Find out.", "facts")
	a.err = program.Body(a.command, a.events.add)(a.ctx, s, a.surface)
	return a
}

func (a *attempt) acknowledged() *attempt {
	a.Helper()
	if a.err != nil {
		a.Errorf("not acknowledged: %v", a.err)
	}
	return a
}

// left returns the Exit that the program's end has to be.
func (a *attempt) left() *program.Exit {
	a.Helper()
	var exit *program.Exit
	if !errors.As(a.err, &exit) {
		a.Fatalf("the end is %v, want an *Exit", a.err)
	}
	return exit
}

// refused holds which refusals were told, in order.
func (a *attempt) refused(codes ...refusal.Code) *attempt {
	a.Helper()
	var got []refusal.Code
	for _, e := range a.events.of(program.Refused) {
		got = append(got, e.Refusal.Code)
		if e.Refusal.Fix == "" || e.Refusal.Message == "" {
			a.Errorf("a refusal without message or fix: %+v", e.Refusal)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(codes) {
		a.Errorf("refused %v, want %v", got, codes)
	}
	return a
}

func (a *attempt) ended() program.Event {
	a.Helper()
	list := a.events.all()
	if len(list) == 0 || list[len(list)-1].Kind != program.Ended {
		a.Fatalf("the last event is not the end: %+v", list)
	}
	return list[len(list)-1]
}

const (
	fact  = `{"id":1,"call":"updateContext","with":{"field":"facts","value":"f"}}`
	facts = `echo '` + fact + `'; `
)

func TestExitStatusDecides(t *testing.T) {
	newAttempt(t, facts+`exit 0`).run().acknowledged()
	a := newAttempt(t, facts+`echo one >&2; echo two >&2; exit 3`).run()
	if e := a.left(); e.Status != 3 || e.Signal != "" || e.Reason != "" || strings.Join(e.Stderr, ",") != "one,two" ||
		!strings.Contains(e.Error(), "exit status 3") || !strings.Contains(e.Error(), "two") {
		t.Errorf("%+v: %v", e, e)
	}
	if a.surface.Value("facts") != `["f"]` {
		t.Errorf("what it wrote before it failed is gone: %s", a.surface.Value("facts"))
	}
	a = newAttempt(t, facts+`kill -SEGV $$`).run()
	if e := a.left(); e.Status != -1 || e.Signal == "" || !strings.Contains(e.Error(), e.Signal) {
		t.Errorf("%+v", e)
	}
	// A crash in the middle of a line.
	a = newAttempt(t, facts+`printf '{"id":2,"call":"upd'; kill -KILL $$`).run().refused("BAD_LINE")
	if e := a.left(); e.Signal != "killed" {
		t.Errorf("%+v", e)
	}
}

// TestALastLineNeedsNoNewline: a call is not lost for want of one.
func TestALastLineNeedsNoNewline(t *testing.T) {
	a := newAttempt(t, `printf '%s' '`+fact+`'`).run().acknowledged().refused()
	if a.surface.Value("facts") != `["f"]` {
		t.Errorf("facts: %s", a.surface.Value("facts"))
	}
}

func TestGarbageIsRefusedAndTheRunGoesOn(t *testing.T) {
	script := new(strings.Builder)
	var want []refusal.Code
	for _, c := range []struct {
		line string
		code refusal.Code
	}{
		{`hello`, "BAD_LINE"}, {``, "BAD_LINE"}, {`[1]`, "BAD_LINE"}, {`"x"`, "BAD_LINE"}, {`{`, "BAD_LINE"}, {`{"id":1,"call":"regions"} x`, "BAD_LINE"},
		{`{"id":1}`, "INVALID_REQUEST"}, {`{"id":1,"call":7}`, "INVALID_REQUEST"}, {`{"id":[1],"call":"regions"}`, "INVALID_REQUEST"},
		{`{"id":1,"call":"regions","more":1}`, "INVALID_REQUEST"}, {`{"id":1,"call":"regions","call":"regions"}`, "INVALID_REQUEST"},
		{`{"id":1,"call":"regions","with":{"x":1}}`, "INVALID_REQUEST"}, {`{"id":1,"call":"regions","with":[]}`, "INVALID_REQUEST"},
		{`{"id":1,"call":"updateContext"}`, "INVALID_REQUEST"}, {`{"id":1,"call":"updateContext","with":{"field":"facts"}}`, "INVALID_REQUEST"},
		{`{"id":1,"call":"putBlob","with":{"base64":"*"}}`, "INVALID_REQUEST"}, {`{"id":1,"call":"level","with":{"limit":1}}`, "INVALID_REQUEST"},
		{`{"id":1,"call":"acknowledge"}`, "UNKNOWN_CALL"}, {`{"id":1,"call":""}`, "UNKNOWN_CALL"},
		{`{"id":1,"call":"updateContext","with":{"field":"nope","value":1}}`, "UNDECLARED_FIELD"},
		{`{"id":1,"call":"updateContext","with":{"field":"facts","value":1}}`, "WRONG_TYPE"},
		{`{"id":1,"call":"updateContext","with":{"field":"hypotheses","key":"agent:lead","value":"x"}}`, "FOREIGN_KEY"},
		{`{"id":1,"call":"updateContext","with":{"field":"facts","value":"a\u0000b"}}`, "INVALID_CONTENT"},
		{`{"id":1,"call":"updateContext","with":{"field":"facts","value":"\ud800"}}`, "INVALID_REQUEST"},
		{`{"id":1,"call":"updateContext","with":{"field":"facts","value":{"a":1,"a":2}}}`, "INVALID_REQUEST"},
	} {
		fmt.Fprintf(script, "cat <<'E'\n%s\nE\n", c.line)
		want = append(want, c.code)
	}
	script.WriteString("printf '\\377\\376\\n'; printf 'a\\000b\\n'\n" + facts)
	want = append(want, "BAD_LINE", "BAD_LINE")
	a := newAttempt(t, script.String()).run().acknowledged().refused(want...)
	if a.surface.Value("facts") != `["f"]` {
		t.Errorf("the good call after the bad ones: %s", a.surface.Value("facts"))
	}
	for i, e := range a.events.of(program.Refused) {
		if surface := i >= 19 && i <= 22; e.Protocol == surface {
			t.Errorf("refusal %d (%s): protocol is %v", i, e.Refusal.Code, e.Protocol)
		}
	}
	if e := a.ended(); e.Calls != len(want)+1 || e.Refusals != len(want) {
		t.Errorf("%+v", e)
	}
}

// TestARefusalNamesTheLine: the id comes back whenever the line has one.
func TestARefusalNamesTheLine(t *testing.T) {
	a := newAttempt(t, `read -r s; echo '{"id":"x7","call":"regions","more":1}'; read -r line; printf '%s\n' "$line" >&2`).run().acknowledged()
	if logs := a.events.logs(); len(logs) != 1 || !strings.HasPrefix(logs[0], `{"id":"x7","ok":false,"refusal":{"code":"INVALID_REQUEST"`) ||
		!strings.Contains(logs[0], `"ref":"$.more"`) || !strings.Contains(logs[0], `"context":"incident: `) || !strings.Contains(logs[0], `"live":true`) {
		t.Errorf("%q", logs)
	}
}

func TestBoundsEndTheAttempt(t *testing.T) {
	a := newAttempt(t, `i=0; while [ $i -le 200 ]; do echo bad; i=$((i+1)); done; cat >/dev/null`).run()
	if e := a.left(); !strings.Contains(e.Reason, "more than 100 lines that are no calls") {
		t.Errorf("%v", e)
	}
	if n := len(a.events.of(program.Refused)); n != 101 {
		t.Errorf("%d refusals", n)
	}
	a = newAttempt(t, `while :; do echo '{"call":"regions"}'; done`)
	a.command.Bounds.Calls = 50
	if e := a.run().left(); !strings.Contains(e.Reason, "more than 50 calls") {
		t.Errorf("%v", e)
	}
	if n := len(a.surface.Calls()); n != 50 {
		t.Errorf("%d calls reached the surface", n)
	}
}

func TestADeadlineEndsTheProgram(t *testing.T) {
	a := newAttempt(t, `exec sleep 1000`)
	ctx, cancel := context.WithTimeout(a.ctx, 100*time.Millisecond)
	defer cancel()
	a.ctx = ctx
	if e := a.run().left(); !errors.Is(a.err, context.DeadlineExceeded) || e.Signal != "terminated" || e.Reason != "the deadline passed" {
		t.Errorf("%+v", e)
	}
}

func TestAProgramThatIgnoresTheEndIsKilled(t *testing.T) {
	a := newAttempt(t, `trap '' TERM; echo ready >&2; while :; do sleep 1000; done`)
	a.command.Grace = 50 * time.Millisecond
	a.cancelOn("ready", context.DeadlineExceeded)
	if e := a.run().left(); e.Signal != "killed" || !errors.Is(a.err, context.Canceled) {
		t.Errorf("%+v", e)
	}
}

// TestCallsAfterTheEndAreRefused: a program that goes on gets its answers, and
// nothing reaches the surface; leaving with 0 then is no acknowledgment.
func TestCallsAfterTheEndAreRefused(t *testing.T) {
	a := newAttempt(t, "")
	a.command.Args = []string{python(t), "-c", `
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
sys.stdin.readline()
print("ready", file=sys.stderr, flush=True)
signal.sigwait([signal.SIGTERM])
print('` + fact + `', flush=True)
print(sys.stdin.readline(), end="", file=sys.stderr)
`}
	a.cancelOn("ready", context.DeadlineExceeded)
	a.run().refused("STALE_SUMMONS")
	if e := a.left(); e.Status != 0 || e.Reason != "the deadline passed" {
		t.Errorf("%+v", e)
	}
	if calls := a.surface.Calls(); len(calls) != 0 {
		t.Errorf("the surface saw %v", calls)
	}
	if logs := a.events.logs(); len(logs) < 2 || !strings.Contains(logs[len(logs)-1], `"live":false`) {
		t.Errorf("%q", logs)
	}
}

// TestACallUnderWayAtTheEnd: what became of it is not known, and is not claimed.
func TestACallUnderWayAtTheEnd(t *testing.T) {
	a := newAttempt(t, facts+`cat >/dev/null`)
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	a.ctx = ctx
	a.surface.Before = func(ctx context.Context, _ agenttest.Call) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	a.run().refused("COMMIT_UNKNOWN")
	if e := a.left(); !errors.Is(a.err, context.Canceled) || e.Reason != "it was withdrawn" {
		t.Errorf("%+v", e)
	}
}

// TestADefectOfTheSurface is neither the program's fault nor a refusal.
func TestADefectOfTheSurface(t *testing.T) {
	a := newAttempt(t, facts+`cat >/dev/null`)
	broken := errors.New("the disk is gone")
	a.surface.Before = func(context.Context, agenttest.Call) error { return broken }
	a.run().refused()
	var exit *program.Exit
	if !errors.Is(a.err, broken) || errors.As(a.err, &exit) {
		t.Errorf("%v", a.err)
	}
	if e := a.ended(); !strings.Contains(e.Reason, "the disk is gone") {
		t.Errorf("%+v", e)
	}
}

func TestAProgramThatClosesItsOutput(t *testing.T) {
	newAttempt(t, facts+`exec >&-; echo still here >&2; exit 0`).run().acknowledged()
	a := newAttempt(t, `exec >&- 2>&- <&-; exit 4`).run()
	if e := a.left(); e.Status != 4 {
		t.Errorf("%+v", e)
	}
}

// TestAProgramThatNeverReads makes 5,000 calls and reads no result.
func TestAProgramThatNeverReads(t *testing.T) {
	a := newAttempt(t, `i=0; while [ $i -lt 5000 ]; do
echo "{\"id\":$i,\"call\":\"updateContext\",\"with\":{\"field\":\"count\",\"value\":$i}}"; i=$((i+1)); done`)
	a.run().acknowledged().refused()
	if n := len(a.surface.Calls()); n != 5000 || a.surface.Value("count") != "4999" {
		t.Errorf("%d calls, the last value %s", n, a.surface.Value("count"))
	}
}

// TestUnreadResultsHoldCallsBack: past the limit no more calls are read, and the
// reason says so.
func TestUnreadResultsHoldCallsBack(t *testing.T) {
	a := newAttempt(t, `while :; do echo '{"call":"regions"}'; done`)
	a.command.Bounds.Unread = 1 << 20 // far more than the pipe takes by itself
	a.events.on[string(program.Stalled)] = a.cancel(context.DeadlineExceeded)
	if e := a.run().left(); !strings.Contains(e.Reason, "unread") {
		t.Errorf("%v", e)
	}
	if n := len(a.events.of(program.Stalled)); n != 1 {
		t.Errorf("told %d times", n)
	}
	if n := len(a.surface.Calls()); n > 9000 {
		t.Errorf("%d calls were answered though nobody reads", n)
	}
}

// TestALineOf100MB is one refusal and costs no memory.
func TestALineOf100MB(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := newAttempt(t, `head -c 104857600 /dev/zero | tr '\0' x; echo; `+facts+`head -c 104857600 /dev/zero | tr '\0' x`).run()
	runtime.ReadMemStats(&after)
	a.acknowledged().refused("BAD_LINE", "BAD_LINE")
	if e := a.events.of(program.Refused)[0]; !strings.Contains(e.Refusal.Message, "104857600 bytes") || !strings.Contains(e.Refusal.Message, "2097152") || len(e.Line) > 300 {
		t.Errorf("%v (%d bytes shown)", e.Refusal, len(e.Line))
	}
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 24<<20 {
		t.Errorf("%d bytes were allocated", grew)
	}
	if a.surface.Value("facts") != `["f"]` {
		t.Errorf("the call between: %s", a.surface.Value("facts"))
	}
}

func TestHugeStandardError(t *testing.T) {
	a := newAttempt(t, `yes 'a line of the log' | head -n 200000 >&2; head -c 20000000 /dev/zero | tr '\0' y >&2; printf '\n\377end' >&2; exit 1`).run()
	logs := a.events.of(program.Log)
	if len(logs) != 1000 || a.ended().Unlogged != 199_002 {
		t.Errorf("%d lines, %d uncounted", len(logs), a.ended().Unlogged)
	}
	e := a.left()
	if n := len(e.Stderr); n != 20 || e.Stderr[n-1] != "\uFFFDend" || len(e.Stderr[n-2]) > 600 {
		t.Errorf("tail: %d lines, the last %.80q", len(e.Stderr), e.Stderr[len(e.Stderr)-1])
	}
	a = newAttempt(t, `head -c 5000 /dev/zero | tr '\0' y >&2`).run().acknowledged()
	if logs := a.events.logs(); len(logs) != 1 || len(logs[0]) != 4096+len("…") {
		t.Errorf("%d lines", len(logs))
	}
}

// TestGrandchildren: what a program leaves behind in its group dies with it, and its
// hold on the output delays nothing. The program waits for the answer to a call that
// the grandchild makes once it holds the pipe.
func TestGrandchildren(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAttempt(t, "")
	a.command.Args = []string{"sh", "-c", `(exec 3>"$0"; ` + facts + `exec sleep 1000) & read -r summons; read -r result; exit 0`, pipe}
	a.command.Bounds.Drain = time.Minute
	dead := make(chan string, 1)
	go func() {
		text, err := os.ReadFile(pipe) // ends when the grandchild does
		dead <- fmt.Sprint(string(text), err)
	}()
	a.run().acknowledged()
	if got := <-dead; got != "<nil>" {
		t.Errorf("the grandchild's pipe: %q", got)
	}
}

// TestASurvivorInAnotherGroup cannot be found, and is not waited for either.
func TestASurvivorInAnotherGroup(t *testing.T) {
	a := newAttempt(t, "")
	a.command.Args = []string{python(t), "-c", `
import subprocess, sys
p = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(p.pid, file=sys.stderr, flush=True)
print('` + fact + `', flush=True)
`}
	a.command.Bounds.Drain = 20 * time.Millisecond
	a.run().acknowledged()
	pid, err := strconv.Atoi(a.events.logs()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the survivor: %v", err)
	}
	if a.surface.Value("facts") != `["f"]` {
		t.Errorf("facts: %s", a.surface.Value("facts"))
	}
}

// TestAKilledSlateTakesItsProgramsAlong kills the process that runs the program and
// waits for the program's end of a named pipe to close.
func TestAKilledSlateTakesItsProgramsAlong(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux can do this; elsewhere a program may outlive a killed Slate")
		return
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	slate := exec.Command(os.Args[0])
	slate.Env = append(os.Environ(), "PROGRAM_TEST_HELPER="+pipe)
	if err := slate.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if line, err := in.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	if err := slate.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	slate.Wait()
	if rest, err := io.ReadAll(in); err != nil || len(rest) != 0 {
		t.Errorf("%q %v", rest, err)
	}
}
