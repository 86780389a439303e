package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// instant is when every entry was written: a test has no use for the real time.
var instant = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func (s *Surface) head() id.Seq { return id.Seq(len(s.entries)) }

func (s *Surface) field(name string) (Field, bool) {
	i := slices.IndexFunc(s.fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return s.fields[i], true
}

// declared returns a field or the refusal that lists those there are.
func (s *Surface) declared(name string) (Field, error) {
	if f, ok := s.field(name); ok {
		return f, nil
	}
	var names []string
	for _, f := range s.fields {
		names = append(names, f.Name)
	}
	return Field{}, refusal.New(refusal.UndeclaredField, name, "%q is not a field of this machine", name).
		WithFix("write one of %s", refusal.List(names)).With("fields", names)
}

// write takes a value for a field or refuses it.
func (s *Surface) write(writer, field, key string, raw json.RawMessage) (wire.Updated, error) {
	f, err := s.declared(field)
	if err != nil {
		return wire.Updated{}, err
	}
	if r := wire.CheckContent("value", raw); r != nil {
		return wire.Updated{}, r
	}
	own := "agent:" + writer
	switch {
	case key != "" && f.Type != "map":
		return wire.Updated{}, refusal.New(refusal.ForeignKey, field, "%s is a %s and has no keys", field, f.Type).WithFix("leave the key out")
	case key != "" && key != own && slices.Contains(s.Gathered, field):
		return wire.Updated{}, refusal.New(refusal.ForeignKey, field, "%s is gathered: its entries are keyed by their writer", field).
			WithFix("leave the key out")
	case f.Type == "map" && key == "":
		key = own
	}
	if err := f.check(raw); err != nil {
		return wire.Updated{}, err
	}
	out := wire.Updated{State: "test", Live: !s.over}
	e := wire.Entry{Seq: s.head() + 1, Region: field, Kind: kindOf(f), Writer: writer, At: instant, Key: key, Content: raw}
	for _, old := range s.of(f) {
		if f.Type == "list" && old.Writer == writer && bytes.Equal(old.Content, raw) {
			out.Seq, out.Repeated = old.Seq, true
		}
		e.Version = old.Version
	}
	if !out.Repeated {
		if e.Kind == wire.Premise {
			e.Version++
		}
		s.entries = append(s.entries, e)
		s.places[field] = append(s.places[field], len(s.entries)-1)
		out.Seq = e.Seq
	}
	out.Position, out.Context = s.head(), s.block()
	return out, nil
}

// of returns the entries that make up a field's value: all of a level, the latest of
// a premise.
func (s *Surface) of(f Field) []wire.Entry {
	places := s.places[f.Name]
	if kindOf(f) == wire.Premise && len(places) > 1 {
		places = places[len(places)-1:]
	}
	out := make([]wire.Entry, len(places))
	for i, at := range places {
		out[i] = s.entries[at]
	}
	return out
}

// value is a field's value as it stands.
func (s *Surface) value(field string) json.RawMessage {
	f, _ := s.field(field)
	list, entries := []json.RawMessage{}, map[string]json.RawMessage{}
	last := json.RawMessage("null")
	for _, e := range s.of(f) {
		list, last = append(list, e.Content), e.Content
		entries[e.Key] = e.Content
	}
	var value any = last
	switch {
	case f.Type == "list" && len(list) > 0:
		value = list
	case f.Type == "map" && len(entries) > 0:
		value = entries
	}
	raw, err := encode(value)
	if err != nil {
		panic("agenttest: " + err.Error()) // every content was checked
	}
	return raw
}

// encode writes JSON as the agent package does: without escapes for HTML.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// block is the context block: a line for each field that has a value.
func (s *Surface) block() string {
	var b strings.Builder
	for _, f := range s.fields {
		if v := s.value(f.Name); string(v) != "null" {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, v)
		}
	}
	return b.String()
}

func kindOf(f Field) wire.Kind {
	if f.Type == "list" || f.Type == "map" {
		return wire.Level
	}
	return wire.Premise
}

func (s *Surface) checkRegion(name string, kind wire.Kind) error {
	f, ok := s.field(name)
	switch {
	case !ok:
		return refusal.New(refusal.UnknownRegion, name, "the board has no region %q", name).WithFix("ask for regions to see them")
	case kindOf(f) != kind:
		return refusal.New(refusal.WrongKind, name, "%s is a %s", name, kindOf(f)).WithFix("read it as one")
	}
	return nil
}

// check refuses a value that is not of the field's type: an element's type on a
// list and a map.
func (f Field) check(raw json.RawMessage) error {
	want := f.Type
	if want == "list" || want == "map" {
		want = f.Of
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return err
	}
	ok := false
	switch v := value.(type) {
	case string:
		ok = want == "string" || want == "enum" || want == "blob"
		if want == "enum" && !slices.Contains(f.Values, v) {
			return refusal.New(refusal.NotInEnum, f.Name, "%q is not a value of %s", v, f.Name).
				WithFix("write one of %s", strings.Join(f.Values, ", "))
		}
	case bool:
		ok = want == "boolean"
	case json.Number:
		_, err := v.Int64()
		ok = want == "number" || want == "integer" && err == nil
	}
	if !ok {
		return refusal.New(refusal.WrongType, f.Name, "%s takes a value of type %s", f.Name, want).WithFix("write a %s", want)
	}
	return nil
}
