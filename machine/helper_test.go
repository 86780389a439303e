package machine

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var start = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

// board is a run with its record, as the caller of the package keeps them.
type board struct {
	t       testing.TB
	def     *Definition
	run     *Run
	now     time.Time
	entries []wire.Entry
	last    Step
	counter int
}

func load(t testing.TB, document string) *Definition {
	t.Helper()
	d, err := Load("test.yaml", []byte(document))
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return d
}

func incident(t testing.TB) *Definition {
	t.Helper()
	data, err := os.ReadFile("testdata/incident.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load("incident.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t testing.TB, d *Definition) *board {
	b := &board{t: t, def: d, run: New(d), now: start}
	b.keep(b.run.Open(1, b.now))
	return b
}

func (b *board) next() id.Seq { return id.Seq(len(b.entries) + 1) }

// keep appends a step's records, as the store would.
func (b *board) keep(s Step) Step {
	b.last = s
	for _, r := range s.Records {
		if r.Seq != b.next() {
			b.t.Fatalf("record %d numbered %d", b.next(), r.Seq)
		}
		e := r.Entry()
		e.At = b.now
		b.entries = append(b.entries, e)
	}
	return s
}

func (b *board) tick() { b.now = b.now.Add(time.Second) }

// claim claims the agent's summons and fails the test when it cannot.
func (b *board) claim(agent string) *Summons {
	b.t.Helper()
	b.tick()
	step, s, no := b.run.Claim(agent, b.now, time.Minute, "holder", b.next())
	if no != nil {
		b.t.Fatalf("claim %s: %v", agent, no)
	}
	b.keep(step)
	return s
}

// write writes under the agent's current claim.
func (b *board) write(agent, field string, value any) *refusal.Refusal {
	return b.writeKey(agent, field, "", value)
}

func (b *board) writeKey(agent, field, key string, value any) *refusal.Refusal {
	b.tick()
	a, ok := b.def.Agent(agent)
	if !ok {
		b.t.Fatalf("no agent %q", agent)
	}
	s := b.run.rows[a.index]
	return b.writeUnder(s, field, key, value)
}

func (b *board) writeUnder(s Summons, field, key string, value any) *refusal.Refusal {
	raw, ok := value.(json.RawMessage)
	if !ok {
		raw = encode(value)
	}
	b.counter++
	step, no := b.run.Write(Write{Agent: s.Agent, Entry: s.Entry, Attempt: s.Attempt, Generation: s.Generation, Field: field,
		Key: key, HasKey: key != "", Value: raw, IdemKey: fmt.Sprintf("%d/%s/%d/%d", s.Entry, s.Agent, s.Attempt, b.counter)}, b.next(), b.now)
	if no == nil {
		b.keep(step)
	}
	return no
}

// must writes and fails the test when it is refused.
func (b *board) must(agent, field string, value any) {
	b.t.Helper()
	if no := b.write(agent, field, value); no != nil {
		b.t.Fatalf("%s writes %s: %v", agent, field, no)
	}
}

func (b *board) settle(agent string, ack bool, failure string) *refusal.Refusal {
	b.tick()
	a, _ := b.def.Agent(agent)
	step, no := b.run.Settle(Settlement{Agent: agent, Generation: b.run.rows[a.index].Generation, Acknowledged: ack, Failure: failure}, b.next(), b.now)
	if no == nil {
		b.keep(step)
	}
	return no
}

func (b *board) all() iter.Seq2[wire.Entry, error] { return each(b.entries) }

func each(entries []wire.Entry) iter.Seq2[wire.Entry, error] {
	return func(yield func(wire.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func known(defs ...*Definition) func(id.Digest) (*Definition, error) {
	return func(d id.Digest) (*Definition, error) {
		for _, def := range defs {
			if def.Digest() == d {
				return def, nil
			}
		}
		return nil, fmt.Errorf("unknown definition %s", d)
	}
}

// lists reads the list levels out of the record, as Restore asks for them.
func (b *board) lists(field string) []wire.FieldEntry {
	var out []wire.FieldEntry
	for _, e := range b.entries {
		if e.Region == field {
			out = append(out, wire.FieldEntry{Seq: e.Seq, Writer: e.Writer, At: e.At, Value: e.Content})
		}
	}
	return out
}

// shape is everything a run is, for comparison. volatile rows are what the journal
// does not hold.
func shape(r *Run, volatile bool) map[string]any {
	out := map[string]any{
		"position": r.position, "state": r.State(), "entry": r.entry, "entered": r.entered, "entries": r.entries, "fired": r.fired,
		"exchanges": r.exchanges, "exchangesBy": r.exchangesBy, "transitions": r.transitions, "ended": r.ended,
		"retired": r.retired, "block": r.Block(), "objective": r.Objective(), "digest": r.def.Digest(),
	}
	for i := range r.cells {
		c := &r.cells[i]
		out["field "+c.field.Name] = []any{c.full(0), c.version, c.chars, c.by, c.index, len(c.vals)}
	}
	seen := map[string]id.Seq{}
	for k, v := range r.seen {
		seen[fmt.Sprint(k.agent, k.field, k.val)] = v
	}
	out["seen"] = seen
	rows := append([]Summons(nil), r.rows...)
	if !volatile {
		for i := range rows {
			rows[i].Generation, rows[i].LeaseUntil, rows[i].Holder = 0, time.Time{}, ""
		}
	}
	out["rows"] = rows
	return out
}

func sameRun(t testing.TB, what string, got, want *Run, volatile bool) {
	t.Helper()
	g, w := shape(got, volatile), shape(want, volatile)
	for k := range w {
		if !reflect.DeepEqual(g[k], w[k]) {
			t.Fatalf("%s: %s differs:\n got %s\nwant %s", what, k, text(g[k]), text(w[k]))
		}
	}
}

func text(v any) string { return fmt.Sprintf("%+v", v) }

// check holds what every run must: its record folds to it, restores to it, and
// verifies.
func (b *board) check() {
	b.t.Helper()
	folded := New(b.def)
	folded.UseDefinitions(known(b.def, b.run.def))
	for _, e := range b.entries {
		if err := folded.Fold(e); err != nil {
			b.t.Fatalf("fold: %v", err)
		}
	}
	sameRun(b.t, "fold", folded, b.run, false)
	restored, err := Restore(b.run.def, b.run.Checkpoint(), b.lists)
	if err != nil {
		b.t.Fatalf("restore: %v", err)
	}
	sameRun(b.t, "restore", restored, b.run, true)
	rep, err := Verify(known(b.def, b.run.def), b.all())
	if err != nil {
		b.t.Fatalf("verify: %v", err)
	}
	sameRun(b.t, "verify", rep.Run, b.run, false)
	if rep.Entries != len(b.entries) || rep.Through != b.run.position {
		b.t.Fatalf("verify: report %+v of %d entries", rep, len(b.entries))
	}
}

func wantCode(t testing.TB, no *refusal.Refusal, code refusal.Code, words ...string) {
	t.Helper()
	if no == nil {
		t.Fatalf("not refused, want %s", code)
	}
	if no.Code != code {
		t.Fatalf("refused %v, want %s", no, code)
	}
	for _, w := range words {
		if !strings.Contains(no.Error(), w) {
			t.Fatalf("refusal %q lacks %q", no.Error(), w)
		}
	}
}

func (b *board) wantEnd(reason string) {
	b.t.Helper()
	end := b.run.Ended()
	if end == nil || end.Reason != reason || b.last.Ended != end {
		b.t.Fatalf("ended %+v (step %+v), want %s", end, b.last.Ended, reason)
	}
	b.check()
}
