package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// CanMigrate says whether the run can move to another definition: its current state
// exists there with the agents it gathers from, and every field with a value exists
// with the same type. New fields are allowed. Otherwise the error is a refusal
// CANNOT_MIGRATE that lists every problem.
func CanMigrate(r *Run, to *Definition) error {
	if no := r.canMigrate(to); no != nil {
		return no
	}
	return nil
}

func (r *Run) canMigrate(to *Definition) *refusal.Refusal {
	if no := r.closed(); no != nil {
		return refusal.New(refusal.CannotMigrate, to.Name, "%s", no.Message)
	}
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if to.digest == r.def.digest {
		problem("the run is on this definition already")
	}
	if to.Name != r.def.Name {
		problem("the machine is %q, the run's is %q", to.Name, r.def.Name)
	}
	if s, ok := to.states[r.state.Name]; !ok {
		problem("state %q, where the run is, does not exist", r.state.Name)
	} else if s.Terminal {
		problem("state %q, where the run is, is terminal", r.state.Name)
	}
	for _, k := range r.state.asked {
		if name := r.def.Agents[k.agent].Name; to.agents[name] == nil {
			problem("agent %q, whom state %q gathers from, does not exist", name, r.state.Name)
		}
	}
	for i := range r.cells {
		r.cells[i].canMigrate(to, problem)
	}
	for i := range to.Fields {
		f := &to.Fields[i]
		if old, ok := r.retired[f.Name]; ok && old.Kind != f.Kind() {
			problem("field %q: its region is a %s on this board", f.Name, old.Kind)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return refusal.New(refusal.CannotMigrate, to.Name, "the run cannot move to version %d: %s", to.Version, strings.Join(problems, "; ")).
		WithFix("change the document so that what the run holds fits it").With("problems", problems)
}

// canMigrate reports what of a field's value does not fit the definition.
func (c *cell) canMigrate(to *Definition, problem func(string, ...any)) {
	f := c.field
	n, ok := to.fields[f.Name]
	switch {
	case !ok && c.present():
		problem("field %q has a value and does not exist", f.Name)
	case !ok:
	case n.Kind() != f.Kind():
		problem("field %q: its region is a %s on this board", f.Name, f.Kind())
	case c.present() && (n.Type != f.Type || n.Of != f.Of):
		problem("field %q has a value of type %s, there it is %s", f.Name, f.typeName(), n.typeName())
	case n.Element() == Enum:
		for _, it := range append([]item{c.value}, c.items...) {
			if it.val.present() && !it.erased && !slices.Contains(n.Values, it.val.text()) {
				problem("field %q holds %q, which is not one of its values there", f.Name, it.val.text())
			}
		}
	}
}

// typeName is the field's type in a message.
func (f *Field) typeName() string {
	if f.Collection() {
		return fmt.Sprintf("%s of %s", f.Type, f.Of)
	}
	return string(f.Type)
}

// Migrate moves the run to another definition after CanMigrate: it records
// migrated, pins the new digest, asks the agents the state now needs, drops the
// summonses it no longer does, and takes microsteps. The caller declares the regions
// of new fields and takes the checkpoint the step asks for.
func (r *Run) Migrate(to *Definition, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	if no := r.canMigrate(to); no != nil {
		return Step{}, no
	}
	defs := r.defs
	r.defs = func(id.Digest) (*Definition, error) { return to, nil }
	d := r.decide(next, now)
	d.event(&Event{Type: EventMigrated, Digest: to.digest, Name: to.Name, Version: to.Version, Previous: r.def.digest})
	r.defs = defs
	d.microsteps()
	d.Checkpoint = true
	return d.finish(), nil
}

// migrated takes a migrated event: everything is carried over by name.
func (r *Run) migrated(e *Event, at time.Time) error {
	if r.defs == nil {
		return fmt.Errorf("migrated: the run was given no definitions (UseDefinitions)")
	}
	to, err := r.defs(e.Digest)
	if err != nil {
		return fmt.Errorf("migrated: definition %s: %w", e.Digest, err)
	}
	if to.digest != e.Digest || e.Previous != r.def.digest {
		return fmt.Errorf("migrated: from %s to %s does not fit the run", e.Previous, e.Digest)
	}
	if no := r.canMigrate(to); no != nil {
		return fmt.Errorf("migrated: %s", no.Message)
	}
	old := *r
	r.use(to)
	for i := range old.cells {
		c := &old.cells[i]
		if f, ok := to.fields[c.field.Name]; ok {
			c.field = f
			r.cells[f.index] = *c
		} else {
			r.retired[c.field.Name] = retired{Kind: c.field.Kind(), Version: c.version}
		}
	}
	for i := range r.cells {
		c := &r.cells[i]
		if was, ok := r.retired[c.field.Name]; ok {
			c.version = was.Version
			delete(r.retired, c.field.Name)
		}
	}
	r.seen = map[element]id.Seq{}
	for k, seq := range old.seen {
		if f, ok := to.fields[old.def.Fields[k.field].Name]; ok {
			k.field = f.index
			r.seen[k] = seq
		}
	}
	for i, n := range old.entries {
		if s, ok := to.states[old.def.States[i].Name]; ok {
			r.entries[s.index] = n
		}
	}
	for i := range old.rows {
		if a, ok := to.agents[old.rows[i].Agent]; ok {
			r.rows[a.index], r.exchangesBy[a.index] = old.rows[i], old.exchangesBy[i]
		}
	}
	r.state = to.states[old.state.Name]
	r.reask(at)
	return nil
}

// reask fits the summonses to what the current state asks now.
func (r *Run) reask(at time.Time) {
	for i := range r.rows {
		s := &r.rows[i]
		k := r.asks(i)
		switch {
		case k == nil:
			if s.Status == Pending || s.Status == Sent {
				s.Status, s.Due, s.LeaseUntil, s.Holder = Settled, time.Time{}, time.Time{}, ""
				r.dirty[i] = true
			}
		case s.Entry != r.entry && !r.satisfied() && (len(k.optional) > 0 || r.owes(k)):
			r.summon(i, at)
		}
	}
	if !r.satisfied() {
		r.resummon(at)
	}
}
