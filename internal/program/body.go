package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/wire"
)

// Body returns an agent body that runs the program once for each summons. It returns
// nil when the program left with exit status 0 in its own time and every line it
// wrote was answered; *CannotStart when it never ran; *Exit when it crashed, left
// with another status, passed a bound or outlived ctx (errors.Is then finds the
// context's error); and any other error for a defect of the surface.
//
// When ctx ends the program's process group gets SIGTERM, and SIGKILL a grace later.
// From then on its calls are refused. Body returns once the program is reaped and
// everything it started in its process group is killed. A process that moved itself
// to another group is left alone, and its output is not waited for.
//
// observe gets what happened, one event at a time, and must not block for long; nil
// means nobody looks.
func Body(cmd Command, observe func(Event)) agent.Body {
	cmd = cmd.withDefaults()
	return func(ctx context.Context, s *wire.Summons, b agent.Surface) error {
		r := &run{cmd: cmd, observe: &observer{to: observe}}
		return r.run(ctx, s, b)
	}
}

// run is one summons.
type run struct {
	cmd     Command
	observe *observer
}

func (r *run) run(ctx context.Context, s *wire.Summons, b agent.Surface) error {
	summons, err := summonsLine(s)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Exit{Status: -1, Reason: why(ctx) + " before it was started", Err: err}
	}
	p, err := start(r.cmd, s)
	if err != nil {
		return err
	}
	results := newResults(r.cmd.Bounds.Unread, func() { r.observe.event(Event{Kind: Stalled}) })
	results.put(ctx, summons)
	written := make(chan struct{})
	go func() {
		defer close(written)
		results.run(p.stdin)
	}()

	log := &logs{bounds: r.cmd.Bounds, observe: r.observe}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		log.read(&draining{file: p.stderr, process: p, wait: r.cmd.Bounds.Drain})
	}()

	calls := newSession(b, r.cmd.Bounds, results, r.observe, s)
	served := make(chan error, 1)
	go func() { served <- calls.serve(ctx, &draining{file: p.stdout, process: p, wait: r.cmd.Bounds.Drain}) }()

	reason, defect, cause := r.supervise(ctx, p, served, results)
	<-written
	<-logged
	p.stdout.Close()
	p.stderr.Close()

	ended := Event{Kind: Ended, Status: p.status, Signal: p.signal, Reason: reason,
		Calls: calls.calls, Refusals: calls.refusals, Unlogged: log.unlogged}
	if reason == "" && calls.cutOff {
		reason, cause = why(ctx)+" before its last calls were answered", ctx.Err()
		ended.Reason = reason
	}
	if defect != nil && ended.Reason == "" {
		ended.Reason = "Slate could not go on: " + defect.Error()
	}
	r.observe.event(ended)
	switch {
	case defect != nil:
		return defect
	case p.waitErr != nil:
		return fmt.Errorf("wait for the agent program: %w", p.waitErr)
	case reason != "" || p.status != 0:
		return &Exit{Status: p.status, Signal: p.signal, Reason: reason, Stderr: log.tail, Err: cause}
	}
	return nil
}

// supervise waits until the program is gone and its lines are answered, and ends it
// when its time or a bound has run out. reason says why it did; cause is the
// context's error behind it; defect is what went wrong on Slate's side.
func (r *run) supervise(ctx context.Context, p *process, served <-chan error, out *results) (reason string, defect, cause error) {
	over := ctx.Done()
	exited := p.exited
	var kill <-chan time.Time
	end := func(why string) {
		if reason == "" {
			reason = why
		}
		if kill == nil {
			p.terminate()
			kill = time.After(r.cmd.Grace)
		}
	}
	for served != nil || exited != nil {
		select {
		case <-over:
			over = nil
			if exited != nil {
				stalled := out.isStalled()
				end(why(ctx))
				cause = ctx.Err()
				if stalled {
					reason += fmt.Sprintf("; it left more than %d bytes of results unread", r.cmd.Bounds.Unread)
				}
			}
		case err := <-served:
			served = nil
			var b bound
			switch {
			case err == nil:
			case errors.As(err, &b):
				end(err.Error())
			default:
				defect = err
				end("Slate could not go on: " + err.Error())
			}
		case <-kill:
			p.kill()
		case <-exited:
			exited = nil
			out.close() // nobody is left to read results
			p.stdin.Close()
			p.drain(r.cmd.Bounds.Drain)
		}
	}
	return reason, defect, cause
}

// summonsLine is the first line a program reads.
func summonsLine(s *wire.Summons) ([]byte, error) {
	out := *s
	out.Type, out.Protocol = "summons", wire.Protocol
	out.Requirements = append([]wire.Requirement{}, s.Requirements...)
	out.Tools = append([]wire.Tool{}, s.Tools...)
	line, err := encode(out)
	if err != nil {
		return nil, fmt.Errorf("the summons cannot be sent: %w", err)
	}
	return line, nil
}

// draining reads what a program writes. Once the program is gone it reads on while
// output is there, waits a little for more, and then ends: a process that the program
// left behind may hold the other end open for ever.
type draining struct {
	file    *os.File
	process *process
	wait    time.Duration
	after   int
}

// mostAfter is the most output that is read of a program that is gone: more than a
// pipe of the usual size holds, and an end to a survivor that never stops writing.
const mostAfter = 1 << 20

func (d *draining) Read(buf []byte) (int, error) {
	gone := d.process.gone.Load()
	if gone {
		if d.after >= mostAfter {
			return 0, io.EOF
		}
		d.file.SetReadDeadline(time.Now().Add(d.wait))
	}
	n, err := d.file.Read(buf)
	if gone {
		d.after += n
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}
