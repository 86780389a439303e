package machine

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/common/types/ref"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// item is one value on the board with its provenance: a scalar's value, an element
// of a list or an entry of a map.
type item struct {
	seq    id.Seq
	at     time.Time
	writer string
	key    string // of a map entry
	val    scalar
	erased bool // the content is gone; val is the type's zero value
}

// cell is the current value of one field.
type cell struct {
	field   *Field
	version id.Version // of a premise
	value   item       // of a scalar; absent when value.val is
	items   []item     // of a collection: a list in order, a map by first insertion
	vals    []ref.Val  // the values of items, as guards read them
	index   map[string]int
	by      map[string]bool // the agents that ever appended to a list
	chars   int             // of a collection's text, separators included
}

// present says whether the field holds a value.
func (c *cell) present() bool {
	if c.field.Collection() {
		return len(c.items) > 0
	}
	return c.value.val.present()
}

// set replaces a scalar; an absent value clears it.
func (c *cell) set(it item, version id.Version) {
	c.value, c.version = it, version
}

// push appends an element to a list.
func (c *cell) push(it item) {
	c.items = append(c.items, it)
	c.vals = append(c.vals, it.val.v)
	c.chars += width(c.field, it)
	if c.by == nil {
		c.by = map[string]bool{}
	}
	c.by[it.writer] = true
}

// put sets one entry of a map.
func (c *cell) put(it item) {
	if i, ok := c.index[it.key]; ok {
		c.chars += width(c.field, it) - width(c.field, c.items[i])
		c.items[i], c.vals[i] = it, it.val.v
		return
	}
	if c.index == nil {
		c.index = map[string]int{}
	}
	c.index[it.key] = len(c.items)
	c.items = append(c.items, it)
	c.vals = append(c.vals, it.val.v)
	c.chars += width(c.field, it)
}

// has says whether a map holds the key; "*" asks for any.
func (c *cell) has(key string) bool {
	if key == "*" {
		return len(c.items) > 0
	}
	_, ok := c.index[key]
	return ok
}

// remove takes one key, or all with "*", out of a map.
func (c *cell) remove(key string) {
	if key == "*" {
		c.items, c.vals, c.index, c.chars = nil, nil, nil, 0
		return
	}
	i, ok := c.index[key]
	if !ok {
		return
	}
	c.chars -= width(c.field, c.items[i])
	c.items = append(c.items[:i:i], c.items[i+1:]...)
	c.vals = append(c.vals[:i:i], c.vals[i+1:]...)
	delete(c.index, key)
	for k, j := range c.index {
		if j > i {
			c.index[k] = j - 1
		}
	}
}

// width is how many characters the item takes in the field's text, with the line
// break after it.
func width(f *Field, it item) int {
	return utf8.RuneCountInString(line(f, it)) + 1
}

// content is the JSON that stands on the record for an agent's contribution.
func (f *Field) content(key string, val scalar) json.RawMessage {
	if f.Type != Map {
		return val.json()
	}
	out := append([]byte(`{"key":`), quote(key)...)
	out = append(out, `,"value":`...)
	out = append(out, val.json()...)
	return append(out, '}')
}

// mapContent is the content of a map level's record: an entry or a tombstone.
type mapContent struct {
	Key    *string         `json:"key"`
	Value  json.RawMessage `json:"value"`
	Remove *string         `json:"remove"`
}

// entry is the item as readers see it.
func (it item) entry() wire.FieldEntry {
	v := it.val.json()
	if it.erased {
		v = json.RawMessage("null")
	}
	return wire.FieldEntry{Seq: it.seq, Writer: it.writer, At: it.at, Key: it.key, Value: v}
}

// field is the cell in full.
func (c *cell) full(position id.Seq) wire.Field {
	out := wire.Field{Field: c.field.Name, Type: string(c.field.Type), Of: string(c.field.Of),
		Value: json.RawMessage("null"), Entries: []wire.FieldEntry{}, Position: position}
	if !c.present() {
		return out
	}
	if !c.field.Collection() {
		e := c.value.entry()
		out.Value, out.Entries = e.Value, append(out.Entries, e)
		return out
	}
	open, end := byte('['), byte(']')
	if c.field.Type == Map {
		open, end = '{', '}'
	}
	value := []byte{open}
	for i, it := range c.items {
		e := it.entry()
		if i > 0 {
			value = append(value, ',')
		}
		if c.field.Type == Map {
			value = append(append(value, quote(it.key)...), ':')
		}
		value = append(value, e.Value...)
		out.Entries = append(out.Entries, e)
	}
	out.Value = append(value, end)
	return out
}
