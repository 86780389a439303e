package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/refusal"
)

// toInvestigate is the incident at its first investigate, every analyst claimed.
func toInvestigate(t *testing.T) *board {
	b := open(t, incident(t))
	b.claim("lead")
	b.must("lead", "incident", "checkout fails")
	for _, a := range analysts {
		b.claim(a)
	}
	return b
}

var analysts = []string{"log_analyst", "db_expert", "net_expert"}

func TestWriteRefusals(t *testing.T) {
	b := toInvestigate(t)
	fields := []string{"facts", "hypotheses", "incident", "resolution", "status"}
	before := shape(b.run, true)
	for _, c := range []struct {
		agent, field, key string
		value             any
		code              refusal.Code
		words             []string
	}{
		{"db_expert", "fact", "", "x", refusal.UndeclaredField, []string{"facts, hypotheses, incident, resolution, status"}},
		{"db_expert", "_machine", "", "x", refusal.HiddenField, nil},
		{"db_expert", "hypotheses", "agent:log_analyst", "x", refusal.ForeignKey, []string{"agent:db_expert"}},
		{"db_expert", "hypotheses", "agent:db_expert", "x", refusal.ForeignKey, nil},
		{"db_expert", "facts", "k", "x", refusal.ForeignKey, nil},
		{"db_expert", "facts", "", 3, refusal.WrongType, []string{"a number", "one element"}},
		{"db_expert", "facts", "", []string{"x"}, refusal.WrongType, []string{"an array"}},
		{"db_expert", "facts", "", nil, refusal.WrongType, []string{"null"}},
		{"db_expert", "hypotheses", "", map[string]string{"agent:log_analyst": "x"}, refusal.WrongType, []string{"an object"}},
		{"db_expert", "incident", "", true, refusal.WrongType, []string{"a boolean"}},
		{"db_expert", "incident", "", json.RawMessage(`"a`), refusal.WrongType, []string{"not valid JSON"}},
		{"db_expert", "incident", "", json.RawMessage(`"\ud800"`), refusal.WrongType, []string{"surrogate"}},
		{"db_expert", "status", "", "maybe", refusal.NotInEnum, []string{"solved, continue, escalate"}},
	} {
		no := b.writeKey(c.agent, c.field, c.key, c.value)
		wantCode(t, no, c.code, c.words...)
		if got, ok := no.Detail["fields"].([]string); !ok || !slices.Equal(got, fields) {
			t.Errorf("%s: field list %v", c.code, no.Detail["fields"])
		}
	}
	wantCode(t, b.write("lead", "status", "solved"), refusal.StaleSummons, "lead")
	after := shape(b.run, true)
	for k := range before {
		if text(before[k]) != text(after[k]) {
			t.Errorf("a refusal changed %s", k)
		}
	}
	b.check()
}

func TestClaimFencing(t *testing.T) {
	b := toInvestigate(t)
	db, _ := b.def.Agent("db_expert")
	old := b.run.rows[db.index]
	if b.run.Release("db_expert", old.Generation+1, b.now) == nil {
		t.Error("released another generation")
	}
	if no := b.run.Release("db_expert", old.Generation, b.now); no != nil {
		t.Fatal(no)
	}
	counters := b.run.Counters()
	again := b.claim("db_expert")
	if len(b.last.Records) != 0 || again.Generation != old.Generation+1 || again.Attempt != 1 {
		t.Errorf("redelivery %+v made %d records", again, len(b.last.Records))
	}
	if text(counters) != text(b.run.Counters()) {
		t.Errorf("a redelivery was counted")
	}
	wantCode(t, b.writeUnder(old, "facts", "", "late"), refusal.StaleSummons)
	wrong := *again
	wrong.Attempt++
	wantCode(t, b.writeUnder(wrong, "facts", "", "late"), refusal.StaleSummons)
	if no := b.writeUnder(*again, "facts", "", "fresh"); no != nil {
		t.Fatal(no)
	}
	if no := b.run.Renew("db_expert", old.Generation, b.now, time.Hour); no == nil {
		t.Error("renewed an old generation")
	}
	if no := b.run.Renew("db_expert", again.Generation, b.now, time.Hour); no != nil {
		t.Error(no)
	}
	if _, _, no := b.run.Claim("db_expert", b.now, time.Minute, "h", b.next()); no == nil {
		t.Error("claimed under a live lease")
	}
	b.now = b.now.Add(time.Hour)
	if due := b.run.Due(b.now); len(due) != 3 || due[0].Agent != "log_analyst" || due[2].Agent != "db_expert" {
		t.Errorf("due %v", due)
	}
	b.check()
}

func TestLateHypothesis(t *testing.T) {
	b := toInvestigate(t)
	la, _ := b.def.Agent("log_analyst")
	old := b.run.rows[la.index]
	for _, a := range analysts {
		b.must(a, "hypotheses", "h1 "+a)
	}
	b.claim("lead")
	b.must("lead", "status", "continue")
	wantCode(t, b.writeUnder(old, "hypotheses", "", "late"), refusal.StaleSummons)
	b.claim("log_analyst")
	wantCode(t, b.writeUnder(old, "hypotheses", "", "late"), refusal.StaleSummons)
	b.claim("db_expert")
	b.claim("net_expert")
	b.must("db_expert", "hypotheses", "h2")
	b.must("net_expert", "hypotheses", "h2")
	if b.run.State() != "investigate" {
		t.Fatal("the join closed without log_analyst")
	}
	b.must("log_analyst", "hypotheses", "h2")
	if b.run.State() != "assess" {
		t.Fatal("the join did not close")
	}
	b.check()
}

func TestRepeatedElement(t *testing.T) {
	b := toInvestigate(t)
	b.must("db_expert", "facts", "one")
	seq := b.run.Position()
	b.must("db_expert", "facts", "one")
	if b.last.Repeated == nil || b.last.Repeated.Seq != seq || len(b.last.Records) != 0 {
		t.Fatalf("repeat: %+v", b.last)
	}
	b.must("log_analyst", "facts", "one")
	if b.last.Repeated != nil {
		t.Fatal("another agent's equal element is not a repeat")
	}
	for _, a := range analysts {
		b.must(a, "hypotheses", "h")
	}
	b.claim("lead")
	b.must("lead", "status", "continue")
	b.claim("db_expert")
	b.must("db_expert", "facts", "one")
	if b.last.Repeated != nil {
		t.Fatal("an equal element of another state entry is not a repeat")
	}
	b.check()
}

// TestUnmet: a summons acknowledged with its requirement missing is sent again
// until a bound ends the run.
func TestUnmet(t *testing.T) {
	b := open(t, incident(t))
	for i := 1; ; i++ {
		s := b.claim("lead")
		if s == nil {
			if i != 16 {
				t.Errorf("ended at attempt %d, want 16", i)
			}
			break
		}
		if s.Attempt != i {
			t.Fatalf("attempt %d, want %d", s.Attempt, i)
		}
		if no := b.settle("lead", true, ""); no != nil {
			t.Fatal(no)
		}
		if due := b.run.Due(b.now); len(due) != 1 || !strings.Contains(due[0].Failure, "missing") {
			t.Fatalf("due %v", due)
		}
	}
	b.wantEnd(ReasonExchangesPerAgentStage)
	if b.run.Due(b.now.Add(time.Hour)) != nil {
		t.Error("an ended run has summonses due")
	}
	wantCode(t, b.write("lead", "incident", "x"), refusal.StaleSummons, ReasonExchangesPerAgentStage)
}

func TestFailureBacksOff(t *testing.T) {
	b := open(t, incident(t))
	b.claim("lead")
	if no := b.settle("lead", false, "exit status 3\xff"); no != nil {
		t.Fatal(no)
	}
	if len(b.run.Due(b.now)) != 0 {
		t.Error("due at once after a failure")
	}
	next, ok := b.run.NextDue()
	if !ok || next != b.now.Add(200*time.Millisecond) {
		t.Errorf("next due %v", next.Sub(b.now))
	}
	wantCode(t, b.settle("lead", true, ""), refusal.StaleSummons)
	s := b.claim("lead")
	if s.Attempt != 2 || s.Failure != "exit status 3\uFFFD" {
		t.Errorf("%+v", s)
	}
	if backoff(100) != 5*time.Second {
		t.Error(backoff(100))
	}
	b.check()
}

func TestExchangesPerStage(t *testing.T) {
	d := load(t, strings.Replace(string(incident(t).Source()), "maxExchangesPerStage: 30", "maxExchangesPerStage: 2", 1))
	b := open(t, d)
	b.claim("lead")
	b.must("lead", "incident", "x")
	b.claim("log_analyst")
	b.claim("db_expert")
	if b.claim("net_expert") != nil {
		t.Fatal("claimed beyond the bound")
	}
	if !slices.Equal(b.last.Unfinished, []string{"log_analyst", "db_expert"}) {
		t.Errorf("unfinished %v", b.last.Unfinished)
	}
	b.wantEnd(ReasonExchangesPerStage)
}

func TestMaxIterations(t *testing.T) {
	b := toInvestigate(t)
	for round := 0; b.run.Ended() == nil; round++ {
		for _, a := range analysts {
			if round > 0 {
				b.claim(a)
			}
			b.must(a, "hypotheses", fmt.Sprint("h", round))
		}
		b.claim("lead")
		b.must("lead", "status", "continue")
		if round > 20 {
			t.Fatal("no bound")
		}
	}
	if n := b.run.Counters().Entries["investigate"]; n != 12 || len(b.last.Fired) != 1 {
		t.Errorf("%d entries, step %+v", n, b.last)
	}
	b.wantEnd(ReasonMaxIterations)
}

func TestEscalate(t *testing.T) {
	b := toInvestigate(t)
	for _, a := range analysts {
		b.must(a, "hypotheses", "h")
	}
	b.claim("lead")
	b.must("lead", "status", "escalate")
	b.claim("lead")
	b.must("lead", "resolution", "nobody knows")
	b.wantEnd(ReasonTerminal)
	if !b.run.Ended().Terminal || len(b.last.Unfinished) != 0 {
		t.Errorf("%+v", b.last)
	}
}

// TestFromAgent: any eligible agent meets "from: agent", all are summoned, and a
// value somebody else left does not count.
func TestFromAgent(t *testing.T) {
	b := open(t, load(t, machineOf("    x: { type: string }\n    m: { type: map, of: string }\n", `    s:
      requires: [ { name: x, from: agent }, { name: m, from: agent } ]
      transitions: [ { toState: end } ]
`)))
	if due := b.run.Due(b.now); len(due) != 2 {
		t.Fatalf("due %v", due)
	}
	b.claim("a")
	b.claim("b")
	b.must("a", "x", "1")
	b.settle("a", true, "")
	if due := b.run.Due(b.now); len(due) != 1 || due[0].Agent != "a" {
		t.Fatalf("a owes m too: %v", due)
	}
	b.must("b", "m", "2")
	b.wantEnd(ReasonTerminal)
	if f, _ := b.run.Field("m"); string(f.Value) != `{"agent:b":"2"}` {
		t.Error(string(f.Value))
	}
}

// TestTakenAway: a scalar that another agent replaced is asked for again.
func TestTakenAway(t *testing.T) {
	b := open(t, load(t, machineOf("    x: { type: string }\n    y: { type: string }\n", `    s:
      requires: [ { name: x, from: { agent: a } }, { name: y, from: { agent: b } } ]
      transitions: [ { toState: end } ]
`)))
	b.claim("a")
	b.claim("b")
	b.must("a", "x", "mine")
	b.settle("a", true, "")
	if len(b.run.Due(b.now.Add(time.Hour))) != 1 {
		t.Fatal("a was settled")
	}
	b.must("b", "x", "no, mine")
	due := b.run.Due(b.now)
	if len(due) != 1 || due[0].Agent != "a" || due[0].Attempt != 2 {
		t.Fatalf("due %v", due)
	}
	b.must("b", "y", "y")
	if b.run.Ended() != nil {
		t.Fatal("b's value met a's requirement")
	}
	b.check()
	b.claim("a")
	b.must("a", "x", "mine")
	b.wantEnd(ReasonTerminal)
}

// TestPreMet: what a source has contributed is not asked for again on re-entry.
func TestPreMet(t *testing.T) {
	doc := strings.Replace(machineOf("    x: { type: string }\n    m: { type: map, of: string }\n    l: { type: list, of: string }\n", `    s:
      requires: [ { name: x, from: { agent: a } }, { name: m, from: { agent: b } }, { name: l, from: { agent: a } } ]
      transitions:
        - { toState: end, guards: [ { expression: "size(context.m['agent:b']) > 3" } ] }
        - { toState: s, onTransition: [ { remove: { m: "agent:b" } }, { remove: { m: "agent:c" } } ] }
`), "maxIterations: 1000000", "maxIterations: 1", 1)
	b := open(t, load(t, doc))
	b.claim("a")
	b.claim("b")
	b.must("a", "x", "1")
	b.must("a", "l", "1")
	b.must("b", "m", "2")
	if n := len(b.last.Records); n != 4 {
		t.Errorf("%d records: a key that is not there leaves no tombstone", n)
	}
	if due := b.run.Due(b.now); b.run.Entry() != 2 || len(due) != 1 || due[0].Agent != "b" {
		t.Fatalf("entry %d due %v", b.run.Entry(), due)
	}
	for _, q := range b.run.Requirements("a") {
		if !q.Met {
			t.Errorf("%s is not met", q.Field)
		}
	}
	b.claim("b")
	b.must("b", "m", "long enough")
	b.wantEnd(ReasonTerminal)
}

func TestLimitsAndValidate(t *testing.T) {
	b := open(t, load(t, machineOf(`    x: { type: string }
    l: { type: list, of: integer, maxItems: 2, validate: "value % 2 == 0" }
    m: { type: map, of: enum, values: [p, q], maxItems: 2 }
    n: { type: number, validate: "1.0 / value > 0.0" }
    f: { type: blob }
    bl: { type: boolean }
`, `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: end } ]
`)))
	b.claim("a")
	wantCode(t, b.write("a", "l", 1), refusal.ValidateFailed, "value % 2 == 0")
	wantCode(t, b.write("a", "l", 1.5), refusal.WrongType, "fraction")
	wantCode(t, b.write("a", "l", json.RawMessage("9007199254740993")), refusal.WrongType, "2^53")
	wantCode(t, b.write("a", "l", json.RawMessage("9007199254740991.5")), refusal.WrongType, "fraction")
	wantCode(t, b.write("a", "n", json.RawMessage("1e400")), refusal.WrongType, "beyond")
	wantCode(t, b.write("a", "n", -1), refusal.ValidateFailed)
	wantCode(t, b.write("a", "f", "sha256:00"), refusal.WrongType)
	wantCode(t, b.write("a", "bl", "true"), refusal.WrongType)
	b.must("a", "l", json.RawMessage("2.0"))
	b.must("a", "l", 2)
	if b.last.Repeated == nil {
		t.Error("2.0 equals 2")
	}
	b.must("a", "l", json.RawMessage("40e-1"))
	wantCode(t, b.write("a", "l", 6), refusal.ListFull, "2 items")
	b.must("a", "l", 4)
	b.must("a", "m", "p")
	if no := b.writeKey("a", "m", "topic", "q"); no != nil {
		t.Fatal(no)
	}
	wantCode(t, b.writeKey("a", "m", "other", "q"), refusal.ListFull)
	wantCode(t, b.writeKey("a", "m", "agent:b", "q"), refusal.ForeignKey)
	wantCode(t, b.writeKey("a", "m", "*", "q"), refusal.ForeignKey)
	b.must("a", "m", "q")
	digest := strings.Repeat("ab", 32)
	b.must("a", "f", "sha256:"+digest)
	if blobs := b.last.Records[0].Blobs; len(blobs) != 1 || string(blobs[0]) != digest {
		t.Errorf("blobs %v", blobs)
	}
	b.must("a", "bl", false)
	if f, _ := b.run.Field("l"); string(f.Value) != "[2,4]" {
		t.Error(string(f.Value))
	}
	if !strings.Contains(b.run.Block(), "f: [blob sha256:"+digest+"]") {
		t.Error(b.run.Block())
	}
	b.check()
}

// TestHidden: a field with an underscore is the machine's own: guards and
// assignments use it, agents neither see nor write it.
func TestHidden(t *testing.T) {
	b := open(t, load(t, machineOf("    x: { type: string }\n    _round: { type: integer }\n", `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions:
        - { toState: end, guards: [ { expression: "has(context._round)" }, { expression: "context._round == 1" } ] }
        - { toState: s, onTransition: [ { assign: { _round: 1 } }, { assign: { x: "" } } ] }
`)))
	b.claim("a")
	wantCode(t, b.write("a", "_round", 1), refusal.HiddenField)
	b.must("a", "x", "one")
	if strings.Contains(b.run.Block(), "_round") || strings.Contains(string(encode(b.def.Tools("a"))), "_round") {
		t.Error("a hidden field shows")
	}
	if _, no := b.run.Field("_round"); no == nil || no.Code != refusal.HiddenField {
		t.Error(no)
	}
	if f, no := b.run.Inspect("_round"); no != nil || string(f.Value) != "1" {
		t.Error(f, no)
	}
	b.claim("a")
	b.must("a", "x", "two")
	b.wantEnd(ReasonTerminal)
}

func TestCannotTransition(t *testing.T) {
	// A summons of an agent that may not write cannot come about; the check stands on
	// its own for a claim that outlives a migration.
	b := toInvestigate(t)
	_, no := b.run.contribute(Write{Agent: "lead", Field: "status", Value: encode("solved")}, b.next(), b.now)
	wantCode(t, no, refusal.NoTransitionRole, "lead", "investigate")
}
