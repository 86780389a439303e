package body

import (
	"slices"
	"testing"
	"time"

	"github.com/slate-agents/slate/examples/incident/agents/evidence"
)

func post(author, kind, topic, value string) evidence.Posted {
	f := evidence.Fact{Kind: kind, Topic: topic, Value: value, Text: "x", Refs: []evidence.Ref{{File: "f", Line: 1}}}
	return evidence.Posted{Fact: f, Raw: f.String(), Author: "agent:" + author}
}

func TestAssess(t *testing.T) {
	h := evidence.Hypothesis{Cause: "c", Text: "x", RestsOn: []string{"seen"}, AsksFor: []string{"set"}}
	seen, set := post("a", evidence.Observed, "seen", "17"), post("b", evidence.Configured, "set", "17")
	earlier := func(p evidence.Posted) evidence.Posted { p.Earlier = true; return p }
	for _, c := range []struct {
		name  string
		facts []evidence.Posted
		h     evidence.Hypothesis
		want  string
	}{
		{"two analysts and a value that matches", []evidence.Posted{seen, set}, h, "solved"},
		{"old facts count too", []evidence.Posted{earlier(seen), earlier(set)}, h, "solved"},
		{"what is asked for has not come", []evidence.Posted{seen}, h, "continue"},
		{"what is asked for will not come", []evidence.Posted{earlier(seen)}, h, "escalate"},
		{"one analyst alone", []evidence.Posted{earlier(seen), earlier(post("a", evidence.Configured, "set", "17"))}, h, "escalate"},
		{"a value that does not match", []evidence.Posted{earlier(seen), earlier(post("b", evidence.Configured, "set", "100"))}, h, "escalate"},
		{"two observations and no setting", []evidence.Posted{earlier(seen), earlier(post("b", evidence.Observed, "set", "17"))}, h, "escalate"},
		{"a position that names nothing", []evidence.Posted{earlier(seen), earlier(set)}, evidence.Hypothesis{Cause: "unexplained", Text: "x"}, "escalate"},
		{"an empty board", nil, h, "escalate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := evidence.Board{Facts: c.facts, Hypotheses: []evidence.Position{{Hypothesis: c.h, Raw: c.h.String(), Author: "agent:a"}}}
			if got := assess(b); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestPropose(t *testing.T) {
	for _, c := range []struct {
		known        []string
		cause        string
		rests, askss []string
	}{
		{nil, "unexplained", nil, nil},
		{[]string{"log-panic"}, "unexplained", nil, nil},
		{[]string{networkSteady}, "not-the-network", []string{networkSteady}, nil},
		{[]string{refusedConnections, lockWaits}, "connection-exhaustion", []string{refusedConnections, lockWaits}, []string{sessionPlateau, admissionLimit}},
		{[]string{connectSlow}, "network-path", []string{connectSlow}, []string{brokenConnections}},
	} {
		h := Propose(c.known)
		if h.Cause != c.cause || !slices.Equal(h.RestsOn, c.rests) || !slices.Equal(h.AsksFor, c.askss) {
			t.Errorf("%v: %s", c.known, h)
		}
	}
}

func TestSessions(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		counts []int
		topic  string
		value  string
	}{
		{"stands still", slices.Concat(slices.Repeat([]int{2}, 10), slices.Repeat([]int{9}, 12)), sessionPlateau, "9"},
		{"a spike", slices.Concat(slices.Repeat([]int{2}, 10), []int{9, 9, 3, 9}), "session-peak", "9"},
		{"as always", slices.Repeat([]int{9}, 22), "session-peak", "9"},
		{"stands still below the peak", slices.Concat([]int{2, 2, 10}, slices.Repeat([]int{9}, 12)), "session-peak", "10"},
		{"no sessions", []int{0, 0}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []sample
			for i, n := range c.counts {
				all = append(all, sample{Ref: evidence.Ref{File: "f", Line: i + 1, At: start.Add(time.Duration(i) * time.Second)}, rows: make([]evidence.Row, n)})
			}
			facts := sessions(all, evidence.Board{Onset: start.Add(10 * time.Second)})
			var topic, value string
			if len(facts) > 0 {
				topic, value = facts[0].Topic, facts[0].Value
			}
			if topic != c.topic || value != c.value {
				t.Errorf("%v", facts)
			}
		})
	}
}

func TestRoot(t *testing.T) {
	by := map[string][]string{"1": nil, "2": {"1"}, "3": {"2", "1"}, "4": {"5"}, "5": {"4"}}
	for pid, want := range map[string]string{"1": "1", "2": "1", "3": "1", "4": "4", "9": "9"} {
		if got := root(pid, by); got != want {
			t.Errorf("%s waits for %s in the end, want %s", pid, got, want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1, 2}, 2}, {[]float64{1, 2, 3, 4}, 2.5}} {
		if got := median(c.v); got != c.want {
			t.Errorf("%v: %v", c.v, got)
		}
	}
}
