package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Printer writes events as lines that a person reads.
type Printer struct {
	w io.Writer
	// colour is set for a terminal; width is the longest line, in characters.
	colour bool
	width  int
	start  time.Time
}

// plainWidth is the longest line where there is no terminal. The whole of a value is
// in the events themselves, and on the board.
const plainWidth = 200

// NewPrinter returns a printer. width is the terminal's, 0 when w is none; then
// lines are plain, and cut only when they are very long.
func NewPrinter(w io.Writer, width int) *Printer {
	if width <= 0 {
		return &Printer{w: w, width: plainWidth}
	}
	return &Printer{w: w, colour: true, width: width}
}

// The colours, as terminal sequences.
const (
	reset  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
)

// Print writes one event. Times are seconds since the first event printed.
func (p *Printer) Print(e Event) error {
	if p.start.IsZero() {
		p.start = e.At
	}
	seq := "    "
	if e.Seq > 0 {
		seq = fmt.Sprintf("%4d", e.Seq)
	}
	style, text := describe(e)
	head := fmt.Sprintf("%8.3fs %s  ", e.At.Sub(p.start).Seconds(), seq)
	text = cut(Safe(text), p.width-utf8.RuneCountInString(head)-1)
	if p.colour && style != "" {
		text = style + text + reset
	}
	if p.colour {
		head = dim + head + reset
	}
	_, err := fmt.Fprintln(p.w, head+text)
	return err
}

// describe says what happened in one line.
func describe(e Event) (style, text string) {
	switch e.Kind {
	case Opened:
		return bold, "opened    machine " + e.Text
	case Resumed:
		return yellow, "resumed   " + e.Text
	case Migrated:
		return yellow, "migrated  to machine " + e.Text
	case Entered:
		return bold + cyan, "state     " + e.State + round(e)
	case Summoned:
		return "", "  summon  " + e.Agent + attempt(e)
	case Redelivery:
		return yellow, "  again   " + e.Agent + " is summoned again: its holder died"
	case Wrote:
		return "", "  write   " + e.Agent + ": " + e.Field + key(e) + " = " + value(e.Value)
	case Repeated:
		return dim, "  repeat  " + e.Agent + ": " + e.Field + " is on the board already"
	case Cleared:
		what := e.Field + " cleared"
		if e.Key != "" {
			what = e.Field + key(e) + " removed"
		}
		return dim, "  clear   " + what
	case Finished:
		if e.Met != nil && !*e.Met {
			return yellow, "  unmet   " + e.Agent + " acknowledged and what it was asked for is missing"
		}
		return dim, "  done    " + e.Agent
	case Failed:
		return red, "  failed  " + e.Agent + ": " + e.Reason
	case Refused:
		text := "  refuse  " + e.Agent
		if e.Field != "" {
			text += " " + e.Field
		}
		if e.Text != "" {
			// First, because a refusal is longer than most lines have room for.
			text += " [" + cut(e.Text, 60) + "]"
		}
		if e.Refusal != nil {
			text += ": " + e.Refusal.Error()
		}
		return yellow, text
	case Logged:
		return dim, "  log     " + e.Agent + ": " + e.Text
	case Fired:
		return green, "fired     " + e.State + " → " + e.To + guards(e)
	case Ended:
		if e.Terminal {
			return bold + green, "ended     in " + e.State
		}
		return bold + red, "ended     in " + e.State + ": " + e.Text + reason(e)
	}
	return "", string(e.Kind) + " " + e.Text
}

func round(e Event) string {
	if e.Round > 1 {
		return fmt.Sprintf(", round %d", e.Round)
	}
	return ""
}

func attempt(e Event) string {
	if e.Attempt > 1 {
		return fmt.Sprintf(", attempt %d", e.Attempt)
	}
	return ""
}

func key(e Event) string {
	if e.Key == "" {
		return ""
	}
	return "[" + e.Key + "]"
}

func reason(e Event) string {
	if e.Reason == "" {
		return ""
	}
	return ": " + e.Reason
}

// guards shows the guards that were evaluated and what each came to.
func guards(e Event) string {
	if len(e.Guards) == 0 {
		return ""
	}
	var parts []string
	for _, g := range e.Guards {
		switch {
		case g.Error != "":
			parts = append(parts, g.Expression+" is an error: "+g.Error)
		case g.Result:
			parts = append(parts, g.Expression)
		default:
			parts = append(parts, "not "+g.Expression)
		}
	}
	return "  when " + strings.Join(parts, ", ")
}

// value is a JSON value as a person reads it: a string without its quotes.
func value(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, v) == nil {
		return b.String()
	}
	return string(v)
}

// Safe is text as one line that a terminal can be given, whatever an agent put into
// it: control characters, and those that reorder or hide what stands around them,
// become the replacement character.
func Safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case Unsafe(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Unsafe reports whether a terminal may take a character for more than itself: the
// controls C0 and C1, the breaks of lines, and the marks that change the direction of
// text.
func Unsafe(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// cut keeps the first most characters, the last of them a mark that there is more.
func cut(s string, most int) string {
	if most < 1 || utf8.RuneCountInString(s) <= most {
		return s
	}
	r := []rune(s)
	return string(r[:most-1]) + "…"
}
