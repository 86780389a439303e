package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/slate-agents/slate/wire"
)

// Unmet lists what the summons asks for and the board does not hold yet, required
// contributions first, each group in the summons' order.
func Unmet(s *wire.Summons) []wire.Requirement {
	var required, optional []wire.Requirement
	for _, r := range s.Requirements {
		switch {
		case r.Met:
		case r.Required:
			required = append(required, r)
		default:
			optional = append(optional, r)
		}
	}
	return append(required, optional...)
}

// Get reads a context field and unmarshals it: a list into a slice, a map into a map
// with string keys, a scalar into its type. An absent field is T's zero value.
func Get[T any](ctx context.Context, b Surface, field string) (T, error) {
	var value T
	f, err := b.ReadContext(ctx, field)
	if err != nil {
		return value, err
	}
	if len(f.Value) == 0 {
		return value, nil
	}
	if err := json.Unmarshal(f.Value, &value); err != nil {
		return value, fmt.Errorf("the value of %s: %w", field, err)
	}
	return value, nil
}

// LevelEntries yields every contribution of a level, oldest first, page after page,
// up to the end of the level as each page finds it. An error ends it.
func LevelEntries(ctx context.Context, b Reads, region string) iter.Seq2[wire.Entry, error] {
	return entries(func(page wire.Page) (wire.Entries, error) { return b.Level(ctx, region, page) }, "")
}

// ChangesSince yields everything written after a cursor, in order; an empty cursor
// begins at the first write. An error ends it.
func ChangesSince(ctx context.Context, b Reads, cursor string) iter.Seq2[wire.Entry, error] {
	return entries(func(page wire.Page) (wire.Entries, error) { return b.Changes(ctx, page) }, cursor)
}

func entries(read func(wire.Page) (wire.Entries, error), cursor string) iter.Seq2[wire.Entry, error] {
	return func(yield func(wire.Entry, error) bool) {
		for {
			page, err := read(wire.Page{Cursor: cursor, Limit: wire.MaxPage})
			if err != nil {
				yield(wire.Entry{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if !page.More {
				return
			}
			cursor = page.Next
		}
	}
}
