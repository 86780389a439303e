package wire

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/slate-agents/slate/id"
)

// Names is a set of region names that can also be left unsaid: unset, it means the
// default of the place it is used in; empty, it means none. In JSON an unset one
// is left out.
type Names struct {
	Set   bool
	Names []string
}

// Only returns the Names that hold exactly these regions, possibly none.
func Only(names ...string) Names { return Names{Set: true, Names: names} }

// Has reports whether the set names the region.
func (n Names) Has(region string) bool { return slices.Contains(n.Names, region) }

// Equal reports whether both say the same, in whatever order.
func (n Names) Equal(m Names) bool {
	if n.Set != m.Set {
		return false
	}
	for _, name := range n.Names {
		if !m.Has(name) {
			return false
		}
	}
	for _, name := range m.Names {
		if !n.Has(name) {
			return false
		}
	}
	return true
}

// IsZero reports whether the set was left unsaid.
func (n Names) IsZero() bool { return !n.Set }

// MarshalJSON writes an array, or null for an unset one.
func (n Names) MarshalJSON() ([]byte, error) {
	if !n.Set {
		return []byte("null"), nil
	}
	if n.Names == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(n.Names)
}

// UnmarshalJSON reads an array or null.
func (n *Names) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Names{}
		return nil
	}
	n.Set, n.Names = true, nil
	return json.Unmarshal(data, &n.Names)
}

// RegionDecl declares a region.
type RegionDecl struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Window is how long a change waits before the agents it wakes are told (B9).
	Window time.Duration `json:"window,omitempty"`
	// Owner reserves the region to one area of the system; applications leave it empty.
	Owner string `json:"owner,omitempty"`
}

// AgentDecl declares an agent (B7).
type AgentDecl struct {
	Name string `json:"name"`
	// Address is where the agent is reached by a process that holds a transport.
	Address string `json:"address,omitempty"`
	// WritesTo are the levels the agent may write; unset permits every level, empty none.
	WritesTo Names `json:"writesTo,omitzero"`
	// SubscribesTo are the regions that wake the agent; unset means every premise
	// and no level.
	SubscribesTo Names `json:"subscribesTo,omitzero"`
}

// RunLimits are a run's two limits (B12); zero means none.
type RunLimits struct {
	// Idle is how long nothing may happen before the run closes.
	Idle time.Duration `json:"idle,omitempty"`
	// WallClock is the longest the run may last.
	WallClock time.Duration `json:"wallClock,omitempty"`
}

// Opening is the value a premise starts with (B6).
type Opening struct {
	Region  string          `json:"region"`
	Content json.RawMessage `json:"content"`
}

// CreateBoard declares regions and agents and opens a run.
type CreateBoard struct {
	Board   id.Board     `json:"board"`
	Regions []RegionDecl `json:"regions"`
	Agents  []AgentDecl  `json:"agents,omitempty"`
	Opening []Opening    `json:"opening,omitempty"`
	Limits  RunLimits    `json:"limits,omitzero"`
	// Writer is named as the writer of the opening values; empty means "application".
	Writer string `json:"writer,omitempty"`
}

// AttachBoard opens a board that exists: it joins the open run, or opens one with
// these limits and no agents after the last has closed.
type AttachBoard struct {
	Board  id.Board  `json:"board"`
	Limits RunLimits `json:"limits,omitzero"`
}

// Attached says which run a create or attach came to.
type Attached struct {
	Run int64 `json:"run"`
	// Joined is set when the run was open already.
	Joined bool `json:"joined,omitempty"`
}

// AgentState is an agent as the run knows it.
type AgentState struct {
	AgentDecl
	// Told is the end of the newest range the agent was told of; Cursor the last it
	// acknowledged.
	Told   id.Seq `json:"told"`
	Cursor id.Seq `json:"cursor"`
	// Pending is set while something waits to be sent to the agent.
	Pending    bool      `json:"pending,omitempty"`
	Registered time.Time `json:"registered"`
}

// RunState is a run as it stands.
type RunState struct {
	Number   int64     `json:"number"`
	OpenedAt time.Time `json:"openedAt"`
	Limits   RunLimits `json:"limits,omitzero"`
	// IdleAt and WallAt are when the limits pass; absent without a limit.
	IdleAt time.Time    `json:"idleAt,omitzero"`
	WallAt time.Time    `json:"wallAt,omitzero"`
	Agents []AgentState `json:"agents"`
}

// BoardState is a board as it stands.
type BoardState struct {
	Board   id.Board  `json:"board"`
	Head    id.Seq    `json:"head"`
	Created time.Time `json:"created"`
	Latest  time.Time `json:"latest,omitzero"`
	Runs    int64     `json:"runs"`
	Regions []Region  `json:"regions,omitempty"`
	// Run is the open run; Outcome is how the latest closed one ended.
	Run     *RunState `json:"run,omitempty"`
	Outcome *Outcome  `json:"outcome,omitempty"`
}

// Boards is one page of boards by name.
type Boards struct {
	Boards []BoardState `json:"boards"`
	Next   string       `json:"next,omitempty"`
}

// Erase takes the content from entries; sequence, digest and a tombstone stay.
type Erase struct {
	Seqs   []id.Seq `json:"seqs"`
	Reason string   `json:"reason,omitempty"`
}
