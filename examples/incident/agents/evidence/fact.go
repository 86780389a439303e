// Package evidence is what the programs of the examples share: the form in which a
// fact and a hypothesis stand on a board, what a board says at the start of a
// round, and readers that keep the line each thing was found on.
//
// It knows no rule and no cause.
package evidence

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The two kinds of fact.
const (
	// Observed is what happened.
	Observed = "observed"
	// Configured is how something is set.
	Configured = "configured"
)

// Ref is where a fact can be looked up.
type Ref struct {
	File string
	Line int
	// At is when it happened; zero for a line that has no time.
	At time.Time
}

// Fact is one fact in the form in which it stands on the board:
//
//	observed refused-connections = 12: 12 connections were refused [postgresql.log:8 2026-01-02T03:04:05.678Z]
type Fact struct {
	Kind  string
	Topic string
	// Value is the one number or name that the fact is about.
	Value string
	Text  string
	Refs  []Ref
}

const clock = "2006-01-02T15:04:05.000Z"

// Clock writes an instant as facts do.
func Clock(t time.Time) string { return t.UTC().Format(clock) }

func (r Ref) String() string {
	s := r.File + ":" + strconv.Itoa(r.Line)
	if !r.At.IsZero() {
		s += " " + Clock(r.At)
	}
	return s
}

func (f Fact) String() string {
	refs := make([]string, len(f.Refs))
	for i, r := range f.Refs {
		refs[i] = r.String()
	}
	return fmt.Sprintf("%s %s = %s: %s [%s]", f.Kind, f.Topic, f.Value, f.Text, strings.Join(refs, "; "))
}

var factForm = regexp.MustCompile(`(?s)^(observed|configured) (\S+) = (\S+): (.*) \[([^\[\]]*)\]$`)

// ParseFact reads a fact from the board. A text in another form is no fact to these
// programs: they leave it alone.
func ParseFact(s string) (Fact, bool) {
	m := factForm.FindStringSubmatch(s)
	if m == nil {
		return Fact{}, false
	}
	f := Fact{Kind: m[1], Topic: m[2], Value: m[3], Text: m[4]}
	for ref := range strings.SplitSeq(m[5], "; ") {
		place, at, _ := strings.Cut(ref, " ")
		file, line, ok := strings.Cut(place, ":")
		n, err := strconv.Atoi(line)
		if !ok || err != nil {
			return Fact{}, false
		}
		r := Ref{File: file, Line: n}
		if at != "" {
			if r.At, err = time.Parse(time.RFC3339, at); err != nil {
				return Fact{}, false
			}
		}
		f.Refs = append(f.Refs, r)
	}
	return f, true
}

// Hypothesis is one position in the form in which it stands on the board:
//
//	connection-exhaustion: the sessions are used up; rests on a, b; asks for c
type Hypothesis struct {
	Cause string
	Text  string
	// RestsOn and AsksFor are topics of facts: those that its author knows, and those
	// that would confirm it.
	RestsOn, AsksFor []string
}

func (h Hypothesis) String() string {
	return fmt.Sprintf("%s: %s; rests on %s; asks for %s", h.Cause, h.Text, topics(h.RestsOn), topics(h.AsksFor))
}

var hypothesisForm = regexp.MustCompile(`(?s)^(\S+): (.*); rests on ([^;]*); asks for ([^;]*)$`)

// ParseHypothesis reads a hypothesis from the board.
func ParseHypothesis(s string) (Hypothesis, bool) {
	m := hypothesisForm.FindStringSubmatch(s)
	if m == nil {
		return Hypothesis{}, false
	}
	return Hypothesis{Cause: m[1], Text: m[2], RestsOn: split(m[3]), AsksFor: split(m[4])}, true
}

func topics(t []string) string {
	if len(t) == 0 {
		return "nothing"
	}
	return strings.Join(t, ", ")
}

func split(s string) []string {
	if s == "nothing" {
		return nil
	}
	return strings.Split(s, ", ")
}

// Names lists names in order, each once, as a sentence does.
func Names(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return strings.Join(names, ", ")
}
