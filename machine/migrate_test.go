package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// edited is the incident's document with replacements, as its next version.
func edited(t testing.TB, pairs ...string) *Definition {
	t.Helper()
	pairs = append(pairs, "version: 1\n", "version: 2\n")
	return load(t, strings.NewReplacer(pairs...).Replace(string(incident(t).Source())))
}

func TestMigrate(t *testing.T) {
	b := toInvestigate(t)
	b.must("db_expert", "facts", "one")
	b.must("db_expert", "hypotheses", "h")
	b.settle("db_expert", true, "")
	to := edited(t, "    resolution: { type: string }\n", "    resolution: { type: string }\n    owner: { type: string }\n",
		"    net_expert:  { canTransition: [investigate] }\n", "    net_expert:  { canTransition: [investigate] }\n    os_expert:  { canTransition: [investigate] }\n",
		"        - { name: facts,      from: { agent: net_expert }", "        - { name: hypotheses, from: { agent: os_expert } }\n        - { name: facts,      from: { agent: net_expert }")
	if err := CanMigrate(b.run, to); err != nil {
		t.Fatal(err)
	}
	b.tick()
	step, no := b.run.Migrate(to, b.next(), b.now)
	if no != nil {
		t.Fatal(no)
	}
	b.keep(step)
	if !step.Checkpoint || b.run.Definition() != to || b.run.State() != "investigate" {
		t.Errorf("%+v", step)
	}
	if due := b.run.Due(b.now); len(due) != 1 || due[0].Agent != "os_expert" {
		t.Errorf("due %v", due)
	}
	first := b.def
	b.def = to
	b.must("log_analyst", "hypotheses", "h")
	b.must("net_expert", "hypotheses", "h")
	if b.run.State() != "investigate" {
		t.Fatal("the new requirement does not count")
	}
	b.claim("os_expert")
	b.must("os_expert", "hypotheses", "h")
	if b.run.State() != "assess" {
		t.Fatal("the join did not close")
	}
	b.checkFrom(first)

	if err := CanMigrate(b.run, to); refusal.CodeOf(err) != refusal.CannotMigrate {
		t.Error("migrated to itself")
	}
}

// checkFrom is check for a record that begins under another definition.
func (b *board) checkFrom(first *Definition) {
	b.t.Helper()
	now := b.def
	b.def = first
	defer func() { b.def = now }()
	b.check()
}

func TestCannotMigrate(t *testing.T) {
	b := toInvestigate(t)
	b.must("db_expert", "facts", "one")
	for _, c := range []struct{ name, old, new, want string }{
		{"type", "incident:   { type: string }", "incident:   { type: blob }", `field "incident" has a value of type string, there it is blob`},
		{"of", "{ type: list, of: string }", "{ type: list, of: integer }", `field "facts" has a value of type list of string, there it is list of integer`},
		{"kind", "resolution: { type: string }", "resolution: { type: list, of: string }", `field "resolution": its region is a premise on this board`},
		{"name", "name: incident-blackboard", "name: other", `the machine is "other"`},
	} {
		err := CanMigrate(b.run, edited(t, c.old, c.new))
		if refusal.CodeOf(err) != refusal.CannotMigrate || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	gone := load(t, strings.Replace(machineOf("    x: { type: string }\n", `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: end } ]
`), "name: m", "name: incident-blackboard", 1))
	err := CanMigrate(b.run, gone)
	for _, want := range []string{`state "investigate", where the run is, does not exist`, `agent "net_expert"`, `field "incident" has a value and does not exist`,
		`field "facts" has a value and does not exist`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// TestRetiredRegion: a field that was dropped and comes back goes on with its
// region's version.
func TestRetiredRegion(t *testing.T) {
	states := `    s:
      requires: [ { name: x, from: { agent: a } } ]
      transitions: [ { toState: end, guards: [ { expression: "context.x == 'go'" } ] }, { toState: s, onTransition: [ { assign: { x: "", y: "" } } ] } ]
`
	one := load(t, machineOf("    x: { type: string }\n    y: { type: string }\n", states))
	two := load(t, strings.Replace(machineOf("    x: { type: string }\n", strings.Replace(states, `, y: ""`, "", 1)), "version: 1", "version: 2", 1))
	three := load(t, strings.Replace(machineOf("    x: { type: string }\n    y: { type: string }\n", states), "version: 1", "version: 3", 1))
	four := load(t, strings.Replace(machineOf("    x: { type: string }\n    y: { type: list, of: string }\n", strings.Replace(states, `, y: ""`, "", 1)), "version: 1", "version: 4", 1))
	b := open(t, one)
	b.claim("a")
	b.must("a", "y", "v")
	b.must("a", "x", "round")
	for _, d := range []*Definition{two, three} {
		if d == three {
			if err := CanMigrate(b.run, four); err == nil || !strings.Contains(err.Error(), "premise") {
				t.Error(err)
			}
		}
		step, no := b.run.Migrate(d, b.next(), b.now)
		if no != nil {
			t.Fatal(no)
		}
		b.keep(step)
		b.def = d
	}
	b.claim("a")
	b.must("a", "y", "w")
	if v := b.last.Records[0].Version; v != 3 {
		t.Errorf("version %d, want 3", v)
	}
	if _, err := Verify(known(one, two, three), b.all()); err != nil {
		t.Error(err)
	}
	restored, err := Restore(three, b.run.Checkpoint(), b.lists)
	if err != nil {
		t.Fatal(err)
	}
	sameRun(t, "restore", restored, b.run, true)
}

func TestDiff(t *testing.T) {
	b := toInvestigate(t)
	b.must("db_expert", "facts", "one")
	from, err := Replay(known(b.def), b.all(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.must("net_expert", "facts", "two")
	for _, a := range analysts {
		b.must(a, "hypotheses", "h")
	}
	b.claim("lead")
	b.must("lead", "status", "continue")
	b.claim("net_expert")
	b.must("net_expert", "hypotheses", "again")
	var got []string
	for _, c := range Diff(from, b.run) {
		got = append(got, strings.Join([]string{c.What, c.Field, c.Key, string(c.Before), string(c.After), c.Writer}, "|"))
	}
	want := []string{
		`state|||{"state":"investigate","entry":2}|{"state":"investigate","entry":4}|`,
		`added|facts|||"two"|net_expert`, `put|hypotheses|agent:net_expert||"again"|net_expert`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	back := Diff(New(b.def), from)
	if len(back) != 3 || back[0].What != "state" || back[1].What != "set" {
		t.Errorf("%+v", back)
	}
	g := b.run.Graph()
	if g.Edges[0].Count != 1 || g.Nodes[1].Role != "current" {
		t.Errorf("%+v", g)
	}
}

// TestErased: an erased contribution stays in its place as a value that is gone,
// and Verify says where it had to stop.
func TestErased(t *testing.T) {
	b := toInvestigate(t)
	b.must("db_expert", "facts", "a name that must go")
	b.must("db_expert", "hypotheses", "h")
	for i := range b.entries {
		if e := &b.entries[i]; e.Region == "facts" || e.Region == "incident" || e.Region == "hypotheses" {
			e.Content, e.Erased = nil, &wire.Erasure{At: b.now, By: "officer"}
		}
	}
	r, err := Replay(known(b.def), b.all(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.Block(), "name") || !strings.Contains(r.Block(), "facts:\n  (erased)") || r.Position() != b.run.Position() {
		t.Error(r.Block())
	}
	if q := r.Requirements("db_expert"); !q[0].Met || !q[1].Met {
		t.Errorf("%+v", q)
	}
	restored, err := Restore(b.def, r.Checkpoint(), b.lists)
	if err != nil {
		t.Fatal(err)
	}
	sameRun(t, "restore", restored, r, true)
	rep, err := Verify(known(b.def), b.all())
	if err != nil || rep.Erased != 4 || rep.Through != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
}
