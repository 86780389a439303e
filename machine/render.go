package machine

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The caps of the context block, in characters (M9).
const (
	// BlockValue is how much of a value the block shows.
	BlockValue = 300
	// BlockBudget is how long the block may be before values are cut further.
	BlockBudget = 8000
	// BlockValueTight is how much of a value a block over budget shows.
	BlockValueTight = 80
)

// show is one value as text; a blob shows where it is, never what it is.
func show(f *Field, it item) string {
	switch {
	case it.erased:
		return "(erased)"
	case f.Element() == Blob:
		return "[blob " + it.val.text() + "]"
	}
	return it.val.text()
}

// line is one item of a collection. A line break inside it is indented, so that no
// value can pass for another item.
func line(f *Field, it item) string {
	text := indent(show(f, it))
	if f.Type == Map {
		return it.key + ": " + text
	}
	return text
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// text is the field in full: empty when absent, one element a line for a list, one
// "key: value" a line for a map.
func (c *cell) text() string {
	if !c.field.Collection() {
		if !c.present() {
			return ""
		}
		return show(c.field, c.value)
	}
	lines := make([]string, len(c.items))
	for i := range c.items {
		lines[i] = line(c.field, c.items[i])
	}
	return strings.Join(lines, "\n")
}

// capped is the field's text up to most characters and how many were cut. It reads
// no more of a collection than it shows.
func (c *cell) capped(most int) (string, int) {
	if !c.field.Collection() {
		text := c.text()
		return cut(text, most), max(0, utf8.RuneCountInString(text)-most)
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(c.items) && size <= most; i++ {
		if i > 0 {
			b.WriteByte('\n')
		}
		text := line(c.field, c.items[i])
		b.WriteString(text)
		size += utf8.RuneCountInString(text) + 1
	}
	return cut(b.String(), most), max(0, c.chars-1-most)
}

// Objective is the current state's description with its fields rendered in full
// (M8); empty before the run opened.
func (r *Run) Objective() string {
	if r.state == nil {
		return ""
	}
	var b strings.Builder
	for _, s := range r.state.objective {
		if s.field == nil {
			b.WriteString(s.text)
		} else {
			b.WriteString(r.cells[s.field.index].text())
		}
	}
	return b.String()
}

// Block is the context block: every set field that agents may see, in the
// document's order, each as "name: value". A value is cut after BlockValue
// characters, or BlockValueTight when the block would pass BlockBudget, and says by
// how much. Its cost does not grow with the collections.
func (r *Run) Block() string {
	block := r.block(BlockValue)
	if utf8.RuneCountInString(block) > BlockBudget {
		block = r.block(BlockValueTight)
	}
	return block
}

func (r *Run) block(most int) string {
	var b strings.Builder
	for i := range r.cells {
		c := &r.cells[i]
		if c.field.Hidden || !c.present() {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.field.Name)
		b.WriteByte(':')
		if c.field.Collection() {
			b.WriteString("\n  ")
		} else {
			b.WriteByte(' ')
		}
		text, more := c.capped(most)
		b.WriteString(indent(text))
		if more > 0 {
			fmt.Fprintf(&b, " …[+%d characters]", more)
		}
	}
	return b.String()
}
