package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slate-agents/slate/wire"
)

// process is a started program, with the near ends of its three pipes.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	// exited is closed when the program is reaped; status, signal and waitErr are
	// good from then on.
	exited  chan struct{}
	status  int
	signal  string
	waitErr error
	// gone is set when output need not be waited for any more.
	gone atomic.Bool

	// mu keeps signals from a process number that was given back to the system.
	mu     sync.Mutex
	reaped bool
}

// start starts the program in a process group of its own. One goroutine starts it
// and waits for it, tied to its thread: on Linux the program is told to die with the
// thread that made it, so that it does not outlive a Slate that is killed.
func start(c Command, s *wire.Summons) (*process, error) {
	path, err := c.resolve()
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{})}
	p.cmd = &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Env: c.environment(s), SysProcAttr: attributes()}
	var far [3]*os.File
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	defer func() { closeAll(far[:]...) }()
	var errs [3]error
	far[0], p.stdin, errs[0] = os.Pipe()
	p.stdout, far[1], errs[1] = os.Pipe()
	p.stderr, far[2], errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		return nil, fmt.Errorf("start the agent program: %w", err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = far[0], far[1], far[2]
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.wait()
		}
	}()
	if err := <-started; err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, explain(path, err)
	}
	return p, nil
}

// wait reaps the program and kills what it left in its process group: where the
// system allows it in the other order, so that the number of the group cannot be
// anybody else's by then.
func (p *process) wait() {
	var err error
	if awaitExit(p.cmd.Process) {
		p.mu.Lock()
		killGroup(p.cmd.Process)
		err = p.cmd.Wait()
	} else {
		err = p.cmd.Wait()
		p.mu.Lock()
		killGroup(p.cmd.Process)
	}
	p.reaped = true
	p.mu.Unlock()
	p.status, p.signal = ending(p.cmd.ProcessState)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.waitErr = err
	}
	close(p.exited)
}

// terminate asks the process group to leave.
func (p *process) terminate() { p.send(terminateGroup) }

// kill ends the process group.
func (p *process) kill() { p.send(killGroup) }

func (p *process) send(how func(*os.Process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		how(p.cmd.Process)
	}
}

// drain lets the readers of the program's output give up once nothing comes any more.
func (p *process) drain(wait time.Duration) {
	p.gone.Store(true)
	until := time.Now().Add(wait)
	p.stdout.SetReadDeadline(until)
	p.stderr.SetReadDeadline(until)
}
