package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
)

var (
	start = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	no    = false
)

// every is an event of each kind, in the words of their authors.
var every = []Event{
	{Kind: Opened, Seq: 1, Text: "m"},
	{Kind: Entered, Seq: 2, State: "work", Round: 1},
	{Kind: Summoned, Seq: 3, Agent: "a", Attempt: 1},
	{Kind: Summoned, Seq: 4, Agent: "a", Attempt: 2},
	{Kind: Wrote, Seq: 5, Agent: "a", Field: "f", Value: json.RawMessage(`"text"`)},
	{Kind: Wrote, Seq: 6, Agent: "a", Field: "f", Key: "agent:a", Value: json.RawMessage(`{ "b" : [1, 2] }`)},
	{Kind: Wrote, Seq: 7, Agent: "machine", Field: "f", Value: json.RawMessage(`3`)},
	{Kind: Repeated, Agent: "a", Field: "f"},
	{Kind: Cleared, Seq: 8, Field: "f"},
	{Kind: Cleared, Seq: 9, Field: "f", Key: "*"},
	{Kind: Finished, Seq: 10, Agent: "a"},
	{Kind: Finished, Seq: 11, Agent: "a", Met: &no},
	{Kind: Failed, Seq: 12, Agent: "a", Reason: "why"},
	{Kind: Refused, Agent: "a", Field: "f", Refusal: refusal.New(refusal.WrongType, "f", "no").WithFix("fix")},
	{Kind: Refused, Agent: "a", Text: "the line", Refusal: refusal.New(refusal.BadLine, "", "no")},
	{Kind: Logged, Agent: "a", Text: "log"},
	{Kind: Fired, Seq: 13, State: "work", To: "work", Guards: []machine.GuardResult{
		{Expression: "x", Result: true}, {Expression: "y"}, {Expression: "z", Error: "bad"}}},
	{Kind: Entered, Seq: 14, State: "work", Round: 2},
	{Kind: Resumed, Text: "board b at position 3"},
	{Kind: Redelivery, Agent: "a"},
	{Kind: Migrated, Seq: 15, Text: "n"},
	{Kind: Ended, Seq: 16, State: "work", Text: "STUCK", Reason: "no way"},
	{Kind: Ended, Seq: 17, State: "end", Text: "terminal", Terminal: true},
	{Kind: "unheard of", Text: "x"},
}

const plain = `   0.000s    1  opened    machine m
   0.250s    2  state     work
   0.500s    3    summon  a
   0.750s    4    summon  a, attempt 2
   1.000s    5    write   a: f = text
   1.250s    6    write   a: f[agent:a] = {"b":[1,2]}
   1.500s    7    write   machine: f = 3
   1.750s         repeat  a: f is on the board already
   2.000s    8    clear   f cleared
   2.250s    9    clear   f[*] removed
   2.500s   10    done    a
   2.750s   11    unmet   a acknowledged and what it was asked for is missing
   3.000s   12    failed  a: why
   3.250s         refuse  a f: WRONG_TYPE: no (fix)
   3.500s         refuse  a [the line]: BAD_LINE: no
   3.750s         log     a: log
   4.000s   13  fired     work → work  when x, not y, z is an error: bad
   4.250s   14  state     work, round 2
   4.500s       resumed   board b at position 3
   4.750s         again   a is summoned again: its holder died
   5.000s   15  migrated  to machine n
   5.250s   16  ended     in work: STUCK: no way
   5.500s   17  ended     in end
   5.750s       unheard of x
`

func print(t *testing.T, width int, events []Event) string {
	t.Helper()
	var out bytes.Buffer
	p := NewPrinter(&out, width)
	for i, e := range events {
		e.At = start.Add(time.Duration(i) * 250 * time.Millisecond)
		if err := p.Print(e); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestPrint(t *testing.T) {
	if got := print(t, 0, every); got != plain {
		t.Errorf("got\n%s\nwant\n%s", got, plain)
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestTerminal: on a terminal the same words are in colour, and no line is longer
// than the terminal is wide.
func TestTerminal(t *testing.T) {
	got := print(t, 300, every)
	if stripped := colours.ReplaceAllString(got, ""); stripped != plain {
		t.Errorf("other words on a terminal:\n%s", stripped)
	}
	for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		if !strings.HasPrefix(line, dim) || strings.Count(line, reset) == 0 || strings.HasSuffix(colours.ReplaceAllString(line, ""), "\x1b") {
			t.Errorf("%q", line)
		}
	}
	for _, width := range []int{40, 41, 60, 80} {
		for _, line := range strings.Split(colours.ReplaceAllString(print(t, width, every), ""), "\n") {
			if n := utf8.RuneCountInString(line); n >= width {
				t.Errorf("%d characters on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

// TestCut: lines are cut where there is no terminal too, when they are very long.
func TestCut(t *testing.T) {
	long := Event{Kind: Logged, Agent: "a", Text: strings.Repeat("ü", 5000)}
	for _, width := range []int{0, 100} {
		want := width
		if width == 0 {
			want = plainWidth
		}
		line := strings.TrimSuffix(colours.ReplaceAllString(print(t, width, []Event{long}), ""), "\n")
		if n := utf8.RuneCountInString(line); n != want-1 || !strings.HasSuffix(line, "ü…") || !utf8.ValidString(line) {
			t.Errorf("width %d: %d characters, %q", width, n, line)
		}
	}
}

// TestNothingReachesATerminal: whatever stands in an event, the line is one line and
// has no control but the printer's own colours.
func TestNothingReachesATerminal(t *testing.T) {
	evil := "a\x1b[2J\x1b]0;title\x07\r\n\t\x00\x7f\u009b31m\u202e\u2028\u2066\u200f\xff\xfe<b>"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{Opened, Entered, Summoned, Wrote, Repeated, Cleared, Finished, Failed, Refused, Logged, Fired, Ended, Migrated, Resumed, Redelivery, Kind(evil)} {
		e := Event{Kind: kind, State: evil, To: evil, Agent: evil, Field: evil, Key: evil, Value: quoted, Reason: evil, Text: evil,
			Guards: []machine.GuardResult{{Expression: evil, Error: evil}}, Refusal: refusal.New("X", "", "%s", evil).WithFix("%s", evil)}
		for _, width := range []int{0, 1000} {
			line, ended := strings.CutSuffix(colours.ReplaceAllString(print(t, width, []Event{e}), ""), "\n")
			if !ended || strings.ContainsFunc(line, Unsafe) || !utf8.ValidString(line) {
				t.Errorf("%s: %q", kind, line)
			}
		}
	}
	raw := Event{Kind: Wrote, Value: json.RawMessage("no json \x1b")}
	if line := print(t, 0, []Event{raw}); strings.Contains(line, "\x1b") {
		t.Errorf("%q", line)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestPrintTellsOfABrokenOutput(t *testing.T) {
	if err := NewPrinter(broken{}, 0).Print(every[0]); err == nil {
		t.Error("no error")
	}
}
