// Package agenttest is a surface in memory for unit tests of agent bodies: typed
// context fields, one summoned agent, and a record of what the body did. It refuses
// what a machine refuses at the surface (undeclared fields, wrong types, foreign
// keys, a summons that is over), with the same codes.
//
// It is no machine: it has no states, guards or transitions and renders a plain
// context block. It must not know a store or a decider.
package agenttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Field declares a context field.
type Field struct {
	Name string
	// Type is string, number, integer, boolean, enum, list, map or blob; Of is the
	// scalar type of a list's or map's values; Values are an enum's.
	Type   string
	Of     string
	Values []string
}

// Call is one call the body made, in the order the surface took them. Standing is
// not recorded: the protocol asks for it on its own account.
type Call struct {
	// Name is the name the agent protocol gives the call.
	Name string
	// On is the field or region; Key and Value are those of a write.
	On    string
	Key   string
	Value string
	// Refused is the code of the refusal, or empty.
	Refused refusal.Code
}

// String is a line for comparing and printing.
func (c Call) String() string {
	line := c.Name
	for _, part := range []string{c.On, c.Key, c.Value} {
		if part != "" {
			line += " " + part
		}
	}
	if c.Refused != "" {
		line += " -> " + string(c.Refused)
	}
	return line
}

// Surface implements agent.Surface. It may be used by several goroutines.
type Surface struct {
	// Agent is the summoned agent; its entries carry this name.
	Agent string
	// Gathered names the fields on which an explicit key is refused.
	Gathered []string
	// Before, when set, runs before each call with the surface unlocked; an error
	// takes the call's place. Set it before the body runs.
	Before func(ctx context.Context, c Call) error

	mu      sync.Mutex
	fields  []Field
	entries []wire.Entry
	places  map[string][]int // where each field's entries are
	blobs   map[id.Digest][]byte
	calls   []Call
	over    bool
}

var _ agent.Surface = (*Surface)(nil)

// New returns an empty surface for one agent. It panics when a field is declared
// with an unknown type, which is a mistake of the test.
func New(name string, fields ...Field) *Surface {
	for _, f := range fields {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "enum", "list", "map", "blob"}, f.Type) {
			panic(fmt.Sprintf("agenttest: field %s has the unknown type %q", f.Name, f.Type))
		}
	}
	return &Surface{Agent: name, fields: fields, places: map[string][]int{}, blobs: map[id.Digest][]byte{}}
}

// Seed writes a value as another agent would, without recording a call. It panics
// when the field refuses it.
func (s *Surface) Seed(writer, field string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := encode(value)
	if err == nil {
		_, err = s.write(writer, field, "", raw)
	}
	if err != nil {
		panic("agenttest: seed: " + err.Error())
	}
}

// End makes the summons stale: writes are refused from now on and Live is false.
func (s *Surface) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Calls returns what the body asked for so far.
func (s *Surface) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Value returns a field's value as JSON: the scalar, the array or the object, null
// when it is absent or not declared.
func (s *Surface) Value(field string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.value(field))
}

// Summons asks the agent for the named fields, all required, as the board stands. A
// name that ends in "?" is optional.
func (s *Surface) Summons(state, objective string, fields ...string) *wire.Summons {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := make([]wire.Requirement, 0, len(fields))
	for _, name := range fields {
		name, optional := strings.CutSuffix(name, "?")
		f, ok := s.field(name)
		if !ok {
			panic("agenttest: a summons for the undeclared field " + name)
		}
		asked = append(asked, wire.Requirement{
			Field: f.Name, Type: f.Type, Of: f.Of, Values: f.Values, Required: !optional,
			Met: string(s.value(f.Name)) != "null", Prompt: "Write " + f.Name + ".",
		})
	}
	return &wire.Summons{
		Type: "summons", Protocol: wire.Protocol, Board: "board", Machine: "test", State: state, Entry: 1, Attempt: 1,
		Generation: 1, Agent: s.Agent, Deadline: time.Now().Add(time.Minute).UTC(), Position: s.head(), Objective: objective,
		Requirements: asked, Context: s.block(), Tools: []wire.Tool{},
	}
}

// do runs one call: hook, lock, record.
func (s *Surface) do(ctx context.Context, c Call, run func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.Before != nil {
		if err := s.Before(ctx, c); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := run()
	c.Refused = refusal.CodeOf(err)
	s.calls = append(s.calls, c)
	return err
}

func (s *Surface) UpdateContext(ctx context.Context, field string, value any) (wire.Updated, error) {
	return s.UpdateEntry(ctx, field, "", value)
}

func (s *Surface) UpdateEntry(ctx context.Context, field, key string, value any) (out wire.Updated, err error) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		if raw, err = encode(value); err != nil {
			return out, err
		}
	}
	raw = bytes.Clone(raw)
	err = s.do(ctx, Call{Name: wire.CallUpdateContext, On: field, Key: key, Value: string(raw)}, func() error {
		if s.over {
			return refusal.New(refusal.StaleSummons, s.Agent, "the summons is over").WithFix("stop; nothing more is asked")
		}
		out, err = s.write(s.Agent, field, key, raw)
		return err
	})
	return out, err
}

func (s *Surface) ReadContext(ctx context.Context, field string) (out wire.Field, err error) {
	err = s.do(ctx, Call{Name: wire.CallReadContext, On: field}, func() error {
		f, err := s.declared(field)
		if err != nil {
			return err
		}
		out = wire.Field{Field: f.Name, Type: f.Type, Of: f.Of, Value: s.value(field), Entries: []wire.FieldEntry{}, Position: s.head()}
		for _, e := range s.of(f) {
			out.Entries = append(out.Entries, wire.FieldEntry{Seq: e.Seq, Writer: e.Writer, At: e.At, Key: e.Key, Value: e.Content})
		}
		return nil
	})
	return out, err
}

func (s *Surface) Regions(ctx context.Context) (out []wire.Region, err error) {
	err = s.do(ctx, Call{Name: wire.CallRegions}, func() error {
		for _, f := range s.fields {
			r := wire.Region{Name: f.Name, Kind: kindOf(f), Owner: "machine"}
			if places := s.places[f.Name]; len(places) > 0 {
				last := s.entries[places[len(places)-1]]
				r.Last, r.Version, r.Count = last.Seq, last.Version, int64(len(places))
			}
			out = append(out, r)
		}
		sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
		return nil
	})
	return out, err
}

func (s *Surface) Level(ctx context.Context, region string, page wire.Page) (out wire.Entries, err error) {
	err = s.do(ctx, Call{Name: wire.CallLevel, On: region}, func() error {
		if err := s.checkRegion(region, wire.Level); err != nil {
			return err
		}
		out, err = s.page(page, region)
		return err
	})
	return out, err
}

func (s *Surface) Premise(ctx context.Context, region string) (out wire.PremiseState, err error) {
	err = s.do(ctx, Call{Name: wire.CallPremise, On: region}, func() error {
		if err := s.checkRegion(region, wire.Premise); err != nil {
			return err
		}
		out.Region = region
		f, _ := s.field(region)
		for _, e := range s.of(f) {
			out = wire.PremiseState{Region: region, Version: e.Version, Value: e.Content, Seq: e.Seq, Writer: e.Writer, At: e.At}
		}
		return nil
	})
	return out, err
}

func (s *Surface) Changes(ctx context.Context, page wire.Page) (out wire.Entries, err error) {
	err = s.do(ctx, Call{Name: wire.CallChanges}, func() error {
		out, err = s.page(page, "")
		return err
	})
	return out, err
}

func (s *Surface) PutBlob(ctx context.Context, data []byte) (digest id.Digest, err error) {
	err = s.do(ctx, Call{Name: wire.CallPutBlob, Value: strconv.Itoa(len(data)) + " bytes"}, func() error {
		sum := sha256.Sum256(data)
		digest = id.Digest(hex.EncodeToString(sum[:]))
		s.blobs[digest] = bytes.Clone(data)
		return nil
	})
	return digest, err
}

func (s *Surface) Standing(ctx context.Context) (wire.Standing, error) {
	if err := ctx.Err(); err != nil {
		return wire.Standing{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.Standing{State: "test", Position: s.head(), Context: s.block(), Live: !s.over}, nil
}

// page cuts a page out of the record; the cursor is the last position seen.
func (s *Surface) page(page wire.Page, region string) (wire.Entries, error) {
	after, limit := int64(0), page.Limit
	if page.Cursor != "" {
		var err error
		if after, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil {
			return wire.Entries{}, refusal.New(refusal.CursorInvalid, page.Cursor, "the cursor is not one of this board").
				WithFix("begin again with an empty cursor")
		}
	}
	if limit <= 0 {
		limit = wire.DefaultPage
	}
	out := wire.Entries{Entries: []wire.Entry{}, Head: s.head(), Next: strconv.FormatInt(max(after, 0), 10)}
	for _, e := range s.entries {
		if int64(e.Seq) <= after || region != "" && e.Region != region {
			continue
		}
		if len(out.Entries) == min(limit, wire.MaxPage) {
			out.More = true
			break
		}
		out.Entries = append(out.Entries, e)
		out.Next = strconv.FormatInt(int64(e.Seq), 10)
	}
	return out, nil
}
