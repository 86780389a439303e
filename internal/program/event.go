package program

import (
	"fmt"
	"strings"
	"sync"

	"github.com/slate-agents/slate/refusal"
)

// Kind is what an Event tells.
type Kind string

// The kinds of event. The set is closed.
const (
	// Log is a line of the program's standard error.
	Log Kind = "log"
	// Refused is a line of the program's standard output that was answered with a
	// refusal.
	Refused Kind = "refused"
	// Stalled says, once a summons, that the program leaves so many results unread
	// that no more of its calls are taken until it reads.
	Stalled Kind = "stalled"
	// Ended is the last event of a program that was started: how it went.
	Ended Kind = "ended"
)

// Event is something worth an entry in a timeline.
type Event struct {
	Kind Kind
	// Line is the program's own text, cut, as valid UTF-8: of a Log the line, of a
	// Refused the beginning of what it wrote.
	Line string
	// Call and Refusal belong to a Refused. Call is empty when the line was no call.
	// Protocol is set when the refusal came from the protocol and the surface never
	// saw the call.
	Call     string
	Refusal  *refusal.Refusal
	Protocol bool
	// The rest belongs to an Ended. Status is the exit status, -1 after a signal,
	// whose name is Signal. Reason says why Slate ended the program, if it did.
	Status int
	Signal string
	Reason string
	// Calls counts the lines the program wrote, Refusals those that were refused,
	// Unlogged the lines of standard error that became no event.
	Calls, Refusals, Unlogged int
}

// Exit is the error of a program that ended otherwise than by exit status 0 in its
// own time: its summons is not acknowledged.
type Exit struct {
	// Status is the exit status, or -1 when a signal ended it.
	Status int
	// Signal names the signal that ended it ("killed", "terminated"), or is empty.
	Signal string
	// Reason says why Slate ended the program; empty when it ended by itself.
	Reason string
	// Stderr holds the last lines of standard error, at most 20.
	Stderr []string
	// Err is the cause of Reason: the context's, or nil.
	Err error
}

func (e *Exit) Error() string {
	var b strings.Builder
	b.WriteString("the agent program ")
	switch {
	case e.Reason != "":
		fmt.Fprintf(&b, "was ended: %s", e.Reason)
		if e.Signal != "" {
			fmt.Fprintf(&b, " (%s)", e.Signal)
		} else {
			fmt.Fprintf(&b, " (exit status %d)", e.Status)
		}
	case e.Signal != "":
		fmt.Fprintf(&b, "died of a signal: %s", e.Signal)
	default:
		fmt.Fprintf(&b, "left with exit status %d", e.Status)
	}
	if n := len(e.Stderr); n > 0 {
		fmt.Fprintf(&b, "; its log ends: %s", e.Stderr[n-1])
	}
	return b.String()
}

func (e *Exit) Unwrap() error { return e.Err }

// observer hands events on, one at a time.
type observer struct {
	mu sync.Mutex
	to func(Event)
}

func (o *observer) event(e Event) {
	if o.to == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to(e)
}

// printable is the program's text as an event carries it: valid UTF-8, at most most
// bytes.
func printable(text []byte, most int) string {
	cutOff := len(text) > most
	if cutOff {
		text = text[:most]
	}
	out := strings.ToValidUTF8(string(text), "\uFFFD")
	if cutOff {
		out += "…"
	}
	return out
}
