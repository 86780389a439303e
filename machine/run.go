package machine

import (
	"slices"
	"time"

	"cel.dev/cel-go/common/types/ref"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Run is a machine's run: a fold of its board's record (M5). It is not safe for
// concurrent use. After a decision whose records were not stored, discard it and
// load it again.
type Run struct {
	def  *Definition
	defs func(id.Digest) (*Definition, error)

	position    id.Seq
	state       *State // nil before the run opened
	entry       int
	entered     id.Seq // the position of the current state entry
	cells       []cell // by field index
	entries     []int  // by state index
	fired       [][]int
	exchanges   int   // in this state entry
	exchangesBy []int // the same by agent index
	transitions int
	ended       *End

	rows  []Summons // by agent index; Entry is 0 when the agent was never summoned
	dirty []bool
	// overtaken are the agents whose sent summons the current step overtook. It is not
	// part of the fold.
	overtaken []int

	// seen are the elements appended in this state entry.
	seen map[element]id.Seq
	// retired are regions of the board that an earlier definition declared.
	retired map[string]retired

	// saved is where the last checkpoint was taken. It is not part of the fold.
	saved struct {
		transitions int
		position    id.Seq
	}
	vars activation
}

// element is one list element of one agent, for recognising repeats.
type element struct {
	agent string
	field int
	val   ref.Val
}

// retired is a region whose field the current definition does not have.
type retired struct {
	Kind    wire.Kind  `json:"kind"`
	Version id.Version `json:"version,omitempty"`
}

// New returns a run before its first record.
func New(def *Definition) *Run {
	r := &Run{retired: map[string]retired{}, seen: map[element]id.Seq{}}
	r.use(def)
	r.vars.context.run = r
	return r
}

// use sizes the run to a definition without carrying anything over.
func (r *Run) use(def *Definition) {
	r.def = def
	r.cells = make([]cell, len(def.Fields))
	for i := range r.cells {
		r.cells[i].field = &def.Fields[i]
	}
	r.entries = make([]int, len(def.States))
	r.fired = make([][]int, len(def.States))
	for i := range r.fired {
		r.fired[i] = make([]int, len(def.States[i].Transitions))
	}
	r.exchangesBy = make([]int, len(def.Agents))
	r.rows = make([]Summons, len(def.Agents))
	r.dirty = make([]bool, len(def.Agents))
	for i := range r.rows {
		r.rows[i].Agent = def.Agents[i].Name
	}
}

// UseDefinitions lets Fold find the definition a migration names.
func (r *Run) UseDefinitions(defs func(id.Digest) (*Definition, error)) { r.defs = defs }

// Definition is the definition the run is pinned to.
func (r *Run) Definition() *Definition { return r.def }

// State is the name of the current state; empty before the run opened.
func (r *Run) State() string {
	if r.state == nil {
		return ""
	}
	return r.state.Name
}

// Entry counts the state entries of the run, from 1; 0 before the run opened.
func (r *Run) Entry() int { return r.entry }

// Position is the sequence number of the last record taken, 0 when there is none.
func (r *Run) Position() id.Seq { return r.position }

// Ended is how the run ended, or nil while it goes on.
func (r *Run) Ended() *End { return r.ended }

// Counters are what the policy counts.
type Counters struct {
	// Entries counts the entries into each state.
	Entries map[string]int
	// Exchanges and ExchangesByAgent count the summonses sent in this state entry.
	Exchanges        int
	ExchangesByAgent map[string]int
	// Transitions counts the transitions of the run.
	Transitions int
}

// Counters returns a copy of the run's counters.
func (r *Run) Counters() Counters {
	c := Counters{Entries: map[string]int{}, Exchanges: r.exchanges, ExchangesByAgent: map[string]int{}, Transitions: r.transitions}
	for i, n := range r.entries {
		if n > 0 {
			c.Entries[r.def.States[i].Name] = n
		}
	}
	for i, n := range r.exchangesBy {
		if n > 0 {
			c.ExchangesByAgent[r.def.Agents[i].Name] = n
		}
	}
	return c
}

// met says whether a requirement's source has made its own entry (M4).
func (r *Run) met(q *Requirement) bool {
	c := &r.cells[q.field.index]
	switch q.field.Type {
	case List:
		return slices.ContainsFunc(q.sources, func(a string) bool { return c.by[a] })
	case Map:
		return slices.ContainsFunc(q.keys, func(k string) bool { _, ok := c.index[k]; return ok })
	}
	return c.value.val.present() && slices.Contains(q.sources, c.value.writer)
}

// satisfied says whether every required entry of the current state is there.
func (r *Run) satisfied() bool {
	for i := range r.state.Requires {
		if q := &r.state.Requires[i]; q.Required && !r.met(q) {
			return false
		}
	}
	return true
}

// owes says whether an agent's required entry is missing in the current state.
func (r *Run) owes(k *ask) bool {
	return slices.ContainsFunc(k.required, func(i int) bool { return !r.met(&r.state.Requires[i]) })
}

// asks is what the current state asks of the agent, or nil.
func (r *Run) asks(agent int) *ask {
	if r.state == nil {
		return nil
	}
	for i := range r.state.asked {
		if r.state.asked[i].agent == agent {
			return &r.state.asked[i]
		}
	}
	return nil
}

// Requirements are what the current state asks of the agent, met and optional ones
// too, in the document's order.
func (r *Run) Requirements(agent string) []wire.Requirement {
	out := []wire.Requirement{}
	if r.state == nil || r.ended != nil {
		return out
	}
	for i := range r.state.Requires {
		q := &r.state.Requires[i]
		if !slices.Contains(q.sources, agent) {
			continue
		}
		out = append(out, wire.Requirement{
			Field: q.Field, Type: string(q.field.Type), Of: string(q.field.Of), Values: q.field.Values,
			Required: q.Required, Met: r.met(q), Prompt: q.Prompt, Form: r.def.Form(*q),
		})
	}
	return out
}

// Field is a context field in full as an agent may read it. Undeclared and hidden
// fields are refused UNDECLARED_FIELD and HIDDEN_FIELD.
func (r *Run) Field(name string) (wire.Field, *refusal.Refusal) {
	f, no := r.def.readable(name)
	if no != nil {
		return wire.Field{}, no
	}
	return r.cells[f.index].full(r.position), nil
}

// Inspect is Field for an operator: it shows hidden fields too.
func (r *Run) Inspect(name string) (wire.Field, *refusal.Refusal) {
	f, ok := r.def.fields[name]
	if !ok {
		return wire.Field{}, r.def.undeclared(name)
	}
	return r.cells[f.index].full(r.position), nil
}

// readable finds a field that agents can see.
func (d *Definition) readable(name string) (*Field, *refusal.Refusal) {
	f, ok := d.fields[name]
	switch {
	case name == JournalRegion || ok && f.Hidden:
		return nil, d.listed(refusal.New(refusal.HiddenField, name, "field %q is hidden from agents (have %s)", name, d.have()).
			WithFix("use a field without a leading underscore"))
	case !ok:
		return nil, d.undeclared(name)
	}
	return f, nil
}

func (d *Definition) undeclared(name string) *refusal.Refusal {
	return d.listed(refusal.New(refusal.UndeclaredField, name, "field %q is not in context (have %s)", clip(name), d.have()).
		WithFix("use one of the declared fields"))
}

// listed adds the field list to a refusal (M2).
func (d *Definition) listed(no *refusal.Refusal) *refusal.Refusal {
	names := d.visible()
	slices.Sort(names)
	return no.With("fields", names)
}

func (d *Definition) have() string {
	if names := d.visible(); len(names) > 0 {
		return refusal.List(names)
	}
	return "none"
}

// Live says whether this claim of the agent's summons may still write.
func (r *Run) Live(agent string, entry, attempt int, generation int64) bool {
	a, ok := r.def.agents[agent]
	if !ok || r.ended != nil || r.state == nil {
		return false
	}
	s := &r.rows[a.index]
	return s.Status == Sent && s.Entry == r.entry && entry == r.entry && s.Attempt == attempt && s.Generation == generation
}

// Standing is where the holder of a claim stands now.
func (r *Run) Standing(agent string, entry, attempt int, generation int64) wire.Standing {
	return wire.Standing{State: r.State(), Position: r.position, Context: r.Block(),
		Live: r.Live(agent, entry, attempt, generation)}
}

// Summons is the body to send to an agent whose summons is the current one, or nil
// when it has none. The caller fills Board and Deadline.
func (r *Run) Summons(agent string) *wire.Summons {
	a, ok := r.def.agents[agent]
	if !ok || r.ended != nil || r.state == nil || r.rows[a.index].Entry != r.entry {
		return nil
	}
	s := &r.rows[a.index]
	return &wire.Summons{
		Type: "summons", Protocol: wire.Protocol, Machine: r.def.Name, State: r.state.Name,
		Entry: s.Entry, Agent: agent, Attempt: s.Attempt, Generation: s.Generation, Position: r.position,
		Objective: r.Objective(), Requirements: r.Requirements(agent), Context: r.Block(), Tools: r.def.Tools(agent),
	}
}

// latest is the later of two instants.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
