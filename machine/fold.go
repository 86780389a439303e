package machine

import (
	"encoding/json"
	"fmt"

	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Fold takes one recorded entry without deciding again: the fast way to load a run.
// Entries come in order of sequence number and without a gap. An entry that no
// decision of this package can have made is refused ALTERED_RECORD; an entry whose
// content was erased is taken as a value that is gone.
func (r *Run) Fold(e wire.Entry) error {
	if e.Seq <= 0 || r.position > 0 && e.Seq != r.position+1 {
		return altered(e, "follows position %d", r.position)
	}
	if e.Hidden {
		return fmt.Errorf("machine: entry %d is hidden from the reader; a run is folded from the whole record", e.Seq)
	}
	if e.Region == JournalRegion {
		if e.Writer != Writer || e.Kind != wire.Level {
			return altered(e, "the journal is a level that only %q writes", Writer)
		}
		if e.Erased != nil {
			return altered(e, "the journal was erased")
		}
		ev, err := ParseEvent(e.Content)
		if err != nil {
			return altered(e, "%v", err)
		}
		if err := r.happened(ev, e.Seq, e.At); err != nil {
			return altered(e, "%v", err)
		}
		return nil
	}
	f, ok := r.def.fields[e.Region]
	switch {
	case !ok:
		return altered(e, "region %q is no field of the machine", e.Region)
	case e.Kind != f.Kind():
		return altered(e, "region %q is a %s", e.Region, f.Kind())
	case r.state == nil:
		return altered(e, "written before the run opened")
	}
	c := &r.cells[f.index]
	if f.Kind() == wire.Premise && e.Version != c.version+1 {
		return altered(e, "version %d of %q follows version %d", e.Version, e.Region, c.version)
	}
	return r.foldField(c, e)
}

// foldField takes an entry of a field's region.
func (r *Run) foldField(c *cell, e wire.Entry) error {
	f := c.field
	it := item{seq: e.Seq, at: e.At, writer: e.Writer}
	content := e.Content
	if e.Erased != nil {
		it.erased, it.val = true, scalar{zero(f.Element())}
		if f.Type == Map {
			it.key = agentKey(e.Writer)
			if e.Writer == Writer || !f.Gathered {
				r.position = e.Seq // whose key it was went with the content
				return nil
			}
		}
	} else if f.Type == Map {
		var m mapContent
		if err := json.Unmarshal(content, &m); err != nil {
			return altered(e, "content of a map: %v", err)
		}
		switch {
		case m.Remove != nil && e.Writer == Writer:
			c.remove(*m.Remove)
			r.position = e.Seq
			return nil
		case m.Key == nil || m.Value == nil || m.Remove != nil:
			return altered(e, "content of a map is neither an entry nor the machine's tombstone")
		}
		it.key, content = *m.Key, m.Value
	} else if f.Kind() == wire.Premise && content == nil {
		if e.Writer != Writer {
			return altered(e, "only the machine clears a field")
		}
		c.set(item{seq: e.Seq, at: e.At, writer: Writer}, e.Version)
		r.position = e.Seq
		return nil
	}
	if !it.erased {
		val, no := coerce(f, content)
		if no != nil {
			return altered(e, "%s", no.Message)
		}
		it.val = val
	}
	if e.Writer == Writer {
		if f.Collection() {
			return altered(e, "the machine adds nothing to a %s", f.Type)
		}
		c.set(it, e.Version)
		r.position = e.Seq
		return nil
	}
	if _, ok := r.def.agents[e.Writer]; !ok {
		return altered(e, "unknown agent %q", e.Writer)
	}
	r.contributed(c, it, e.Version)
	return nil
}

// altered refuses an entry that does not belong on the record.
func altered(e wire.Entry, format string, args ...any) *refusal.Refusal {
	return refusal.New(refusal.AlteredRecord, e.Region, "entry %d: %s", e.Seq, fmt.Sprintf(format, args...)).
		With("seq", int64(e.Seq))
}
