package draw

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// twoRounds is a made-up run of the example machine: a round that leads back, a call
// that is refused, an attempt that fails, and a round that solves it.
func twoRounds() Story {
	s := Story{
		Title: "incident-blackboard: two rounds",
		Lanes: []string{"lead", "log_analyst", "db_expert", "net_expert"},
	}
	at := time.Duration(0)
	add := func(m Mark) {
		at += 137 * time.Millisecond
		m.At = at
		s.Marks = append(s.Marks, m)
	}
	begin := func(lanes ...string) {
		for _, lane := range lanes {
			add(Mark{Kind: Begin, Lane: lane})
		}
	}
	write := func(lane, field, text string) { add(Mark{Kind: Write, Lane: lane, Label: field, Text: text}) }
	finish := func(lane string) { add(Mark{Kind: Finish, Lane: lane, Text: "requirements met"}) }
	guards := func(status string) []Guard {
		var all []Guard
		for _, s := range []string{"solved", "continue", "escalate"} {
			all = append(all, Guard{"context.status == '" + s + "'", s == status})
			if s == status {
				break
			}
		}
		return all
	}

	add(Mark{Kind: Note, Label: "opened", Text: "incident-blackboard v1"})
	add(Mark{Kind: Band, Label: "open", Text: "round 1"})
	begin("lead")
	write("lead", "incident", "Checkout returns 502 for 30% of requests in eu-west since 14:02")
	finish("lead")
	add(Mark{Kind: Fire, Label: "investigate"})

	add(Mark{Kind: Band, Label: "investigate", Text: "round 1"})
	begin("log_analyst", "db_expert", "net_expert")
	write("log_analyst", "facts", "502s began within a minute of deploy 4711 of the checkout servi…")
	write("net_expert", "facts", "No packet loss between the load balancer and the pods")
	add(Mark{Kind: Refusal, Lane: "db_expert", Label: "status", Text: "not a field this agent may write here"})
	write("db_expert", "facts", "Connection pool of payments-db is at 100 of 100")
	write("log_analyst", "hypotheses", "The deploy broke a retry loop")
	finish("log_analyst")
	add(Mark{Kind: Fail, Lane: "net_expert", Text: "left with status 1; asked again"})
	write("db_expert", "hypotheses", "Connections leak; the pool runs dry")
	finish("db_expert")
	add(Mark{Kind: Begin, Lane: "net_expert", Text: "attempt 2"})
	write("net_expert", "hypotheses", "Not the network")
	finish("net_expert")
	add(Mark{Kind: Fire, Label: "assess"})

	add(Mark{Kind: Band, Label: "assess", Text: "round 1"})
	begin("lead")
	write("lead", "status", "continue")
	finish("lead")
	add(Mark{Kind: Fire, Label: "investigate", Guards: guards("continue")})
	add(Mark{Kind: Clear, Label: "hypotheses", Text: "all keys removed"})
	add(Mark{Kind: Clear, Label: "status", Text: `""`})

	add(Mark{Kind: Band, Label: "investigate", Text: "round 2"})
	begin("log_analyst", "db_expert", "net_expert")
	write("db_expert", "facts", "Idle connections are held by one statement: SELECT … FOR UPDATE")
	write("log_analyst", "facts", "Deploy 4711 moved the payment call inside the transaction")
	write("net_expert", "hypotheses", "Not the network")
	finish("net_expert")
	write("db_expert", "hypotheses", "The transaction waits for the payment provider and holds its connection")
	write("log_analyst", "hypotheses", "Deploy 4711 holds a connection for each slow payment")
	finish("log_analyst")
	finish("db_expert")
	add(Mark{Kind: Fire, Label: "assess"})

	add(Mark{Kind: Band, Label: "assess", Text: "round 2"})
	begin("lead")
	write("lead", "status", "solved")
	finish("lead")
	add(Mark{Kind: Fire, Label: "resolve", Guards: guards("solved")})
	add(Mark{Kind: Band, Label: "resolve", Text: "round 1"})
	begin("lead")
	write("lead", "resolution", "Roll back deploy 4711; move the payment call out of the transaction")
	finish("lead")
	add(Mark{Kind: Fire, Label: "done"})
	add(Mark{Kind: Band, Label: "done"})
	add(Mark{Kind: End, Label: "ended", Text: "terminal state"})
	return s
}

func TestTimelineGolden(t *testing.T) {
	var b bytes.Buffer
	if err := Timeline(&b, twoRounds()); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	golden(t, "timeline.svg", b.Bytes())
}

func TestTimelineKeepsOrder(t *testing.T) {
	told := tell(twoRounds())
	if told.w > 1000 {
		t.Errorf("the picture is %d pixels wide, more than a page shows", told.w)
	}
	for i, p := range told.marks[1:] {
		if before := told.marks[i]; p.y <= before.y {
			t.Errorf("mark %d (%s %s) stands at %d, not below the one before it at %d", i+1, p.Kind, p.Label, p.y, before.y)
		}
	}
	bottom := map[string]int{}
	for i, p := range told.marks {
		if p.y < bottom[p.track.name] {
			t.Errorf("mark %d stands on the text above it", i)
		}
		bottom[p.track.name] = p.end
		if p.end > told.h {
			t.Errorf("mark %d stands below the picture", i)
		}
	}
}

func TestTimelineOfOddStories(t *testing.T) {
	many := Story{}
	for i := range 14 {
		many.Marks = append(many.Marks, Mark{Kind: Begin, Lane: fmt.Sprint("agent-with-a-long-name-", i)})
	}
	for name, s := range map[string]Story{
		"nothing":        {},
		"unknown kind":   {Marks: []Mark{{Kind: "?", Lane: "a"}}},
		"ends unbegun":   {Marks: []Mark{{Kind: Finish, Lane: "a"}, {Kind: Fail, Lane: "a"}}},
		"begins twice":   {Marks: []Mark{{Kind: Begin, Lane: "a"}, {Kind: Begin, Lane: "a"}}},
		"bands only":     {Lanes: []string{"a"}, Marks: []Mark{{Kind: Band}, {Kind: Band, Label: "b"}}},
		"many lanes":     many,
		"empty guard":    {Marks: []Mark{{Kind: Fire, Guards: []Guard{{}}}}},
		"time goes back": {Marks: []Mark{{Kind: Write, At: time.Hour}, {Kind: Write, At: -time.Hour}}},
	} {
		var b bytes.Buffer
		if err := Timeline(&b, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wellFormed(t, b.Bytes())
	}
}

func TestUnfinishedBarRunsToTheEnd(t *testing.T) {
	told := tell(Story{Marks: []Mark{{Kind: Begin, Lane: "a"}, {Kind: Write, Lane: "b", Text: "x"}}})
	i := slices.IndexFunc(told.lanes, func(k *track) bool { return k.name == "a" })
	if b := told.lanes[i].bars[0]; b.to != told.floor() {
		t.Errorf("the bar ends at %d, want %d", b.to, told.floor())
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 12 * time.Millisecond: "12 ms", 1260 * time.Millisecond: "1.2 s",
		75 * time.Second: "1m 15s", 2*time.Hour + 5*time.Minute: "2h 5m",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%d) = %q, want %q", d, got, want)
		}
	}
}
