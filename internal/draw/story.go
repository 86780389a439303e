package draw

import (
	"strconv"
	"time"
)

// Story is a run laid out for Timeline: what happened, in order, each thing in the
// lane of whoever did it.
type Story struct {
	Title string
	// Lanes are the agents in the order they stand in the picture. The lane "" of the
	// machine itself is always there and comes first; one that only a mark names
	// comes last.
	Lanes []string
	Marks []Mark
}

// MarkKind chooses how a mark looks and what it does to its lane.
type MarkKind string

// The kinds of mark. Those marked M stand in the machine's lane, whatever their lane
// says.
const (
	// Band begins a state entry: everything up to the next band stands on it. (M)
	Band MarkKind = "band"
	// Begin starts a bar in its lane: an agent was summoned. Finish and Fail end it.
	Begin  MarkKind = "begin"
	Finish MarkKind = "finish"
	Fail   MarkKind = "fail"
	// Write is something written.
	Write MarkKind = "write"
	// Refusal is a call that was refused.
	Refusal MarkKind = "refusal"
	// Clear is something the machine emptied. (M)
	Clear MarkKind = "clear"
	// Fire is a transition, with its guards. (M)
	Fire MarkKind = "fire"
	// End is the end of the run. (M)
	End MarkKind = "end"
	// Note is anything else worth a line.
	Note MarkKind = "note"
)

// Mark is one thing that happened.
type Mark struct {
	Kind MarkKind
	Lane string
	// Label is the name of what the mark is about, such as a state or a field; Text
	// is the rest. A text is wrapped to its lane and cut after four lines.
	Label string
	Text  string
	// Guards are the conditions that were looked at, with their results.
	Guards []Guard
	// At is when it happened, from the beginning of the run. Times are labels only:
	// marks stand in their order, however fast they followed each other.
	At time.Duration
}

// Guard is a condition that was looked at.
type Guard struct {
	Text string
	Held bool
}

// clock writes a time as short as it can be read.
func clock(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "0"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + "." + strconv.FormatInt(int64(d%time.Second/(100*time.Millisecond)), 10) + " s"
	case d < time.Hour:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m " + strconv.FormatInt(int64(d%time.Minute/time.Second), 10) + "s"
	}
	return strconv.FormatInt(int64(d/time.Hour), 10) + "h " + strconv.FormatInt(int64(d%time.Hour/time.Minute), 10) + "m"
}
