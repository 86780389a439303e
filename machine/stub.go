package machine

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

type predicate struct{}
type scalar struct{}
type segment struct{}

// Problem is one thing wrong with a document.
type Problem struct {
	File    string
	Line    int
	Message string
	Fix     string
}

// LoadError lists everything wrong with a document, in order of line.
type LoadError struct{ Problems []Problem }

func (e *LoadError) Error() string { panic("todo") }

func Load(file string, data []byte) (*Definition, error) { panic("todo") }
func Schema() []byte                                     { panic("todo") }
func (d *Definition) Graph() wire.Graph                  { panic("todo") }
func (d *Definition) Tools(agent string) []wire.Tool     { panic("todo") }
func (d *Definition) Form(r Requirement) json.RawMessage { panic("todo") }

// Run is a machine's run: a fold of its board's record. Not safe for concurrent use.
type Run struct{}

// Write is one updateContext call of one agent under one summons.
type Write struct {
	Agent      string
	Entry      int
	Attempt    int
	Generation int64
	Field      string
	// Key is the map entry to write; HasKey says that the caller gave one.
	Key    string
	HasKey bool
	Value  json.RawMessage
	// IdemKey is the idempotency key to put on the record
	// ("entry/agent/attempt/ordinal"); the caller composes it.
	IdemKey string
}

func New(def *Definition) *Run { panic("todo") }

func (r *Run) Definition() *Definition              { panic("todo") }
func (r *Run) Open(next id.Seq, now time.Time) Step { panic("todo") }
func (r *Run) Write(w Write, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	panic("todo")
}
func (r *Run) Claim(agent string, now time.Time, lease time.Duration, holder string, next id.Seq) (Step, *Summons, *refusal.Refusal) {
	panic("todo")
}
func (r *Run) Due(now time.Time) []*Summons { panic("todo") }
func (r *Run) NextDue() (time.Time, bool)   { panic("todo") }
func (r *Run) Renew(agent string, generation int64, now time.Time, lease time.Duration) *refusal.Refusal {
	panic("todo")
}
func (r *Run) Release(agent string, generation int64, now time.Time) *refusal.Refusal { panic("todo") }
func (r *Run) Settle(s Settlement, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	panic("todo")
}
func (r *Run) Fold(e wire.Entry) error { panic("todo") }
func (r *Run) Checkpoint() []byte      { panic("todo") }
func Restore(def *Definition, checkpoint []byte, lists func(field string) []wire.FieldEntry) (*Run, error) {
	panic("todo")
}

// SummonsRows are all rows, DirtySummons those changed since it was last called.
func (r *Run) SummonsRows() []Summons        { panic("todo") }
func (r *Run) DirtySummons() []Summons       { panic("todo") }
func (r *Run) RestoreSummons(rows []Summons) { panic("todo") }

// Report is what Verify found.
type Report struct {
	Entries, Contributions, Guards int
	// Through is the last position verified.
	Through id.Seq
	// Erased is the first erased contribution, where verification stopped; 0 when none.
	Erased id.Seq
	Run    *Run
}

func Verify(defs func(id.Digest) (*Definition, error), entries iter.Seq2[wire.Entry, error]) (*Report, error) {
	panic("todo")
}
func Replay(defs func(id.Digest) (*Definition, error), entries iter.Seq2[wire.Entry, error], until id.Seq) (*Run, error) {
	panic("todo")
}

// Change is one difference between two positions of a run.
type Change struct {
	// What is state, set, cleared, added (a list element), put or removed (a map entry).
	What   string          `json:"what"`
	Field  string          `json:"field,omitempty"`
	Key    string          `json:"key,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	Writer string          `json:"writer,omitempty"`
	Seq    id.Seq          `json:"seq,omitempty"`
}

func Diff(a, b *Run) []Change                 { panic("todo") }
func CanMigrate(r *Run, to *Definition) error { panic("todo") }
func (r *Run) Migrate(to *Definition, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	panic("todo")
}

func (r *Run) State() string      { panic("todo") }
func (r *Run) Entry() int         { panic("todo") }
func (r *Run) Position() id.Seq   { panic("todo") }
func (r *Run) Ended() *End        { panic("todo") }
func (r *Run) Objective() string  { panic("todo") }
func (r *Run) Block() string      { panic("todo") }
func (r *Run) Counters() Counters { panic("todo") }
func (r *Run) Graph() wire.Graph  { panic("todo") }

// Counters are what the policy counts.
type Counters struct {
	Entries          map[string]int // by state
	Exchanges        int            // in this state entry
	ExchangesByAgent map[string]int
	Transitions      int
}

func (r *Run) Requirements(agent string) []wire.Requirement { panic("todo") }

// Field is a field in full as agents may read it; Inspect shows hidden ones too.
func (r *Run) Field(name string) (wire.Field, *refusal.Refusal)   { panic("todo") }
func (r *Run) Inspect(name string) (wire.Field, *refusal.Refusal) { panic("todo") }

// Live says whether this claim of this summons may still write.
func (r *Run) Live(agent string, entry, attempt int, generation int64) bool { panic("todo") }
func (r *Run) Standing(agent string, entry, attempt int, generation int64) wire.Standing {
	panic("todo")
}

// Summons is the body to send to an agent whose summons was claimed, or nil. The
// caller fills Board and Deadline.
func (r *Run) Summons(agent string) *wire.Summons { panic("todo") }
