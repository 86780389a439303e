package machine

import (
	"encoding/json"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// JournalRegion is the hidden level that keeps what the machine did.
const JournalRegion = "_machine"

// Writer is the writer of everything the reducer writes. No agent may have the name.
const Writer = "machine"

// Owner is the owner of every region of a machine's board.
const Owner = "machine"

// Type is the type of a context field or of a collection's values (M2).
type Type string

// The types of a context field. List and Map are collections of one of the others.
const (
	String  Type = "string"
	Number  Type = "number"
	Integer Type = "integer"
	Boolean Type = "boolean"
	Enum    Type = "enum"
	Blob    Type = "blob"
	List    Type = "list"
	Map     Type = "map"
)

// DefaultMaxItems is how many elements a list, or keys a map, may have when its
// field says nothing else.
const DefaultMaxItems = 10000

// Field is one declared context field. Treat it as read-only.
type Field struct {
	Name string
	Type Type
	// Of is the type of a collection's values, empty on a scalar.
	Of Type
	// Values are the words of an enum, in the document's order.
	Values []string
	// Validate is the CEL predicate over value, or empty.
	Validate string
	// MaxItems bounds a collection; 0 on a scalar.
	MaxItems int
	// Hidden is set on fields whose name begins with an underscore.
	Hidden bool
	// Gathered is set when any requirement of any state names the field.
	Gathered bool
	// Line is where the document declares the field.
	Line int

	index    int
	validate *predicate
}

// Collection says whether the field is a list or a map.
func (f *Field) Collection() bool { return f.Type == List || f.Type == Map }

// Element is the type of one value: Of for a collection, Type for a scalar.
func (f *Field) Element() Type {
	if f.Collection() {
		return f.Of
	}
	return f.Type
}

// Kind is the kind of the field's region: a level for a collection, otherwise a
// premise.
func (f *Field) Kind() wire.Kind {
	if f.Collection() {
		return wire.Level
	}
	return wire.Premise
}

// Agent is one declared agent. Treat it as read-only.
type Agent struct {
	Name string
	// CanTransition names the states the agent may write in (M7).
	CanTransition []string
	Line          int

	index int
	may   map[string]bool
}

// Requirement is one entry of a state's requires (M4). Treat it as read-only.
type Requirement struct {
	Field string
	// Source is the agent whose own entry meets the requirement; empty for any agent
	// whose canTransition names the state.
	Source string
	// Required is false for a contribution that the state does not wait for.
	Required bool
	Prompt   string
	Line     int

	field   *Field
	sources []string // the agents that can meet it
	keys    []string // their keys of a map field
}

// Guard is one CEL predicate over context.
type Guard struct {
	Expression string
	Line       int

	program *predicate
}

// ActionKind is what an onTransition action does.
type ActionKind string

// The actions of onTransition (M6).
const (
	// Assign sets a scalar to a literal, or clears it when the literal is "".
	Assign ActionKind = "assign"
	// Remove removes one key, or every key, of a map.
	Remove ActionKind = "remove"
)

// Action is one onTransition action on one field.
type Action struct {
	Kind  ActionKind
	Field string
	// Key is the key that Remove removes, or "*".
	Key string
	// Value is the literal that Assign sets, as JSON; nil when it clears the field.
	Value json.RawMessage

	field *Field
	value scalar
}

// Transition leads from one state to another when all its guards hold.
type Transition struct {
	To      string
	Guards  []Guard
	Actions []Action
	Line    int

	to *State
}

// State is one declared state. Treat it as read-only.
type State struct {
	Name        string
	Description string
	Requires    []Requirement
	Transitions []Transition
	Terminal    bool
	Line        int

	index     int
	objective []segment
	asked     []ask // the agents the state summons, in document order
}

// ask is what one state asks of one agent.
type ask struct {
	agent    int
	required []int // indexes into Requires
	optional []int
}

// Policy bounds a run (M10).
type Policy struct {
	// MaxIterations is how often a state may be entered after its first time.
	MaxIterations int
	// MaxExchangesPerStage is how many summonses one state entry may send.
	MaxExchangesPerStage int
	// MaxExchangesPerAgentPerStage is how many of them may go to one agent.
	MaxExchangesPerAgentPerStage int
	// CheckpointEvery is how many transitions may pass between checkpoints.
	CheckpointEvery int
}

// DefaultPolicy holds the bounds of a document that names none, so that a summons
// that is never met cannot be sent for ever.
var DefaultPolicy = Policy{
	MaxIterations:                100,
	MaxExchangesPerStage:         300,
	MaxExchangesPerAgentPerStage: 100,
	CheckpointEvery:              5,
}

// Definition is a loaded machine document (M1). It is immutable and safe for
// concurrent use.
type Definition struct {
	Name    string
	Version int
	// Initial is the name of the state a run opens in.
	Initial string
	// Fields, Agents and States are in the document's order.
	Fields []Field
	Agents []Agent
	States []State
	Policy Policy

	file   string
	source []byte
	digest id.Digest
	fields map[string]*Field
	agents map[string]*Agent
	states map[string]*State
}

// File is the name the document was loaded under.
func (d *Definition) File() string { return d.file }

// Digest is the SHA-256 of the document's bytes; a run pins it.
func (d *Definition) Digest() id.Digest { return d.digest }

// Source is a copy of the document's bytes.
func (d *Definition) Source() []byte { return append([]byte(nil), d.source...) }

// Field returns the declared field of that name.
func (d *Definition) Field(name string) (*Field, bool) {
	f, ok := d.fields[name]
	return f, ok
}

// State returns the declared state of that name.
func (d *Definition) State(name string) (*State, bool) {
	s, ok := d.states[name]
	return s, ok
}

// Agent returns the declared agent of that name.
func (d *Definition) Agent(name string) (*Agent, bool) {
	a, ok := d.agents[name]
	return a, ok
}

// Regions are the regions of a board that runs the machine: one a field in the
// document's order, then the journal.
func (d *Definition) Regions() []wire.Region {
	out := make([]wire.Region, 0, len(d.Fields)+1)
	for i := range d.Fields {
		out = append(out, wire.Region{Name: d.Fields[i].Name, Kind: d.Fields[i].Kind(), Owner: Owner})
	}
	return append(out, wire.Region{Name: JournalRegion, Kind: wire.Level, Owner: Owner})
}

// visible are the names of the fields agents may write, in the document's order.
func (d *Definition) visible() []string {
	var out []string
	for i := range d.Fields {
		if !d.Fields[i].Hidden {
			out = append(out, d.Fields[i].Name)
		}
	}
	return out
}
