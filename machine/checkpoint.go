package machine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// checkpointFormat is the version of a checkpoint's JSON.
const checkpointFormat = 1

// checkpoint is a run as JSON, without the elements of its lists.
type checkpoint struct {
	Format      int                  `json:"format"`
	Digest      id.Digest            `json:"digest"`
	Position    id.Seq               `json:"position"`
	State       string               `json:"state"`
	Entry       int                  `json:"entry"`
	Entered     id.Seq               `json:"entered"`
	Entries     map[string]int       `json:"entries"`
	Fired       map[string][]int     `json:"fired"`
	Exchanges   int                  `json:"exchanges"`
	ExchangesBy map[string]int       `json:"exchangesBy"`
	Transitions int                  `json:"transitions"`
	Ended       *End                 `json:"ended,omitempty"`
	Cells       map[string]savedCell `json:"cells"`
	Summons     []Summons            `json:"summons"`
	Retired     map[string]retired   `json:"retired,omitempty"`
}

// savedCell is one field: a scalar's version and item, a map's items, a list's length.
type savedCell struct {
	Version id.Version  `json:"version,omitempty"`
	Length  int         `json:"length,omitempty"`
	Items   []savedItem `json:"items,omitempty"`
}

type savedItem struct {
	Seq    id.Seq          `json:"seq"`
	At     time.Time       `json:"at,omitzero"`
	Writer string          `json:"writer"`
	Key    string          `json:"key,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Erased bool            `json:"erased,omitempty"`
}

func (it item) saved() savedItem {
	s := savedItem{Seq: it.seq, At: it.at, Writer: it.writer, Key: it.key, Erased: it.erased}
	if it.val.present() && !it.erased {
		s.Value = it.val.json()
	}
	return s
}

// Checkpoint is the run as versioned JSON, position included: everything but the
// elements of lists, which are in their levels. It is nil before the run opened.
// Taking it starts the count to the next checkpoint anew.
func (r *Run) Checkpoint() []byte {
	if r.state == nil {
		return nil
	}
	r.saved.transitions, r.saved.position = r.transitions, r.position
	counters := r.Counters()
	c := checkpoint{
		Format: checkpointFormat, Digest: r.def.digest, Position: r.position, State: r.State(), Entry: r.entry, Entered: r.entered,
		Entries: counters.Entries, Fired: map[string][]int{}, Exchanges: r.exchanges, ExchangesBy: counters.ExchangesByAgent,
		Transitions: r.transitions, Ended: r.ended, Cells: map[string]savedCell{}, Summons: r.SummonsRows(), Retired: r.retired,
	}
	for i, n := range r.fired {
		c.Fired[r.def.States[i].Name] = n
	}
	for i := range r.cells {
		cell := &r.cells[i]
		s := savedCell{Version: cell.version}
		switch {
		case cell.field.Type == List:
			s.Length = len(cell.items)
		case cell.field.Type == Map:
			for _, it := range cell.items {
				s.Items = append(s.Items, it.saved())
			}
		case cell.version > 0:
			s.Items = []savedItem{cell.value.saved()}
		}
		c.Cells[cell.field.Name] = s
	}
	return encode(c)
}

// Restore rebuilds a run from a checkpoint of the same definition. lists returns
// every element of a list's level in order; elements written after the checkpoint
// are left to Fold. Continue with Fold from the entry after the run's Position, then
// RestoreSummons.
func Restore(def *Definition, data []byte, lists func(field string) []wire.FieldEntry) (*Run, error) {
	var c checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("machine: checkpoint: %w", err)
	}
	if c.Format != checkpointFormat {
		return nil, fmt.Errorf("machine: checkpoint of format %d, this program reads %d", c.Format, checkpointFormat)
	}
	if c.Digest != def.digest {
		return nil, fmt.Errorf("machine: checkpoint of definition %s, this one is %s", c.Digest, def.digest)
	}
	state, ok := def.states[c.State]
	if !ok {
		return nil, fmt.Errorf("machine: checkpoint in state %q, which the definition lacks", c.State)
	}
	r := New(def)
	r.position, r.state, r.entry, r.entered = c.Position, state, c.Entry, c.Entered
	r.exchanges, r.transitions, r.ended = c.Exchanges, c.Transitions, c.Ended
	for i := range def.States {
		name := def.States[i].Name
		r.entries[i] = c.Entries[name]
		copy(r.fired[i], c.Fired[name])
	}
	for i := range def.Agents {
		r.exchangesBy[i] = c.ExchangesBy[def.Agents[i].Name]
	}
	for name, v := range c.Retired {
		r.retired[name] = v
	}
	for i := range r.cells {
		cell := &r.cells[i]
		if err := r.restoreCell(cell, c.Cells[cell.field.Name], lists); err != nil {
			return nil, fmt.Errorf("machine: checkpoint: field %q: %w", cell.field.Name, err)
		}
	}
	for _, s := range c.Summons {
		if a, ok := def.agents[s.Agent]; ok {
			r.rows[a.index] = s
		}
	}
	r.saved.transitions, r.saved.position = r.transitions, r.position
	return r, nil
}

func (r *Run) restoreCell(c *cell, s savedCell, lists func(field string) []wire.FieldEntry) error {
	f := c.field
	if f.Type == List {
		if s.Length == 0 {
			return nil
		}
		for _, e := range lists(f.Name) {
			if e.Seq > r.position {
				break
			}
			it, err := restoreItem(f, savedItem{Seq: e.Seq, At: e.At, Writer: e.Writer, Value: e.Value, Erased: e.Value == nil || string(e.Value) == "null"})
			if err != nil {
				return err
			}
			c.push(it)
			if k := (element{it.writer, f.index, it.val.v}); it.seq > r.entered && !it.erased {
				if _, ok := r.seen[k]; !ok {
					r.seen[k] = it.seq
				}
			}
		}
		if len(c.items) != s.Length {
			return fmt.Errorf("its level has %d elements up to position %d, the checkpoint counted %d", len(c.items), r.position, s.Length)
		}
		return nil
	}
	for _, saved := range s.Items {
		it, err := restoreItem(f, saved)
		if err != nil {
			return err
		}
		if f.Type == Map {
			c.put(it)
		} else {
			c.set(it, s.Version)
		}
	}
	return nil
}

func restoreItem(f *Field, s savedItem) (item, error) {
	it := item{seq: s.Seq, at: s.At, writer: s.Writer, key: s.Key, erased: s.Erased}
	switch {
	case s.Erased:
		it.val = scalar{zero(f.Element())}
	case s.Value != nil:
		val, no := coerce(f, s.Value)
		if no != nil {
			return item{}, no
		}
		it.val = val
	}
	return it, nil
}
