package machine

import (
	"encoding/json"

	"github.com/slate-agents/slate/id"
)

// Change is one difference between two positions of a run.
type Change struct {
	// What is state, set or cleared (a scalar), added (an element of a list), put or
	// removed (an entry of a map).
	What  string `json:"what"`
	Field string `json:"field,omitempty"`
	Key   string `json:"key,omitempty"`
	// Before and After are absent where there was or is nothing.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Writer and Seq are those of the write that made After.
	Writer string `json:"writer,omitempty"`
	Seq    id.Seq `json:"seq,omitempty"`
}

// Diff lists what changed from one position of a run to a later one: the state,
// then each field in the later definition's order (M12). Compare runs of one record.
func Diff(from, to *Run) []Change {
	out := []Change{}
	if from.State() != to.State() || from.entry != to.entry {
		out = append(out, Change{What: "state", Before: stateValue(from), After: stateValue(to), Seq: to.entered})
	}
	for i := range to.cells {
		after := &to.cells[i]
		before := &cell{field: after.field}
		if f, ok := from.def.fields[after.field.Name]; ok && f.Type == after.field.Type {
			before = &from.cells[f.index]
		}
		switch after.field.Type {
		case List:
			for _, it := range after.items[min(len(before.items), len(after.items)):] {
				out = append(out, it.change("added", after.field, nil))
			}
		case Map:
			out = diffMap(out, before, after)
		default:
			if before.version == after.version {
				continue
			}
			what := "set"
			if !after.present() {
				if !before.present() {
					continue
				}
				what = "cleared"
			}
			out = append(out, after.value.change(what, after.field, before.value.value()))
		}
	}
	return out
}

func diffMap(out []Change, before, after *cell) []Change {
	for _, it := range before.items {
		if !after.has(it.key) {
			out = append(out, Change{What: "removed", Field: after.field.Name, Key: it.key, Before: it.value()})
		}
	}
	for _, it := range after.items {
		var was json.RawMessage
		if i, ok := before.index[it.key]; ok {
			if before.items[i].seq == it.seq {
				continue
			}
			was = before.items[i].value()
		}
		out = append(out, it.change("put", after.field, was))
	}
	return out
}

// value is the item's JSON, nil when it is absent or erased.
func (it item) value() json.RawMessage {
	if !it.val.present() || it.erased {
		return nil
	}
	return it.val.json()
}

func (it item) change(what string, f *Field, before json.RawMessage) Change {
	return Change{What: what, Field: f.Name, Key: it.key, Before: before, After: it.value(), Writer: it.writer, Seq: it.seq}
}

// stateValue is {"state":…,"entry":…}, nil before the run opened.
func stateValue(r *Run) json.RawMessage {
	if r.state == nil {
		return nil
	}
	return encode(struct {
		State string `json:"state"`
		Entry int    `json:"entry"`
	}{r.state.Name, r.entry})
}
