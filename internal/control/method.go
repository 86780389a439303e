package control

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Method is one thing that can be called. Doors are derived from methods: a path, a
// tool, a command; so are the tests that every method must pass.
type Method struct {
	// Name is area.verb. It is a wire value.
	Name string `json:"name"`
	// Summary is one sentence for a person or a language model.
	Summary string `json:"summary"`
	// Action is what a policy permits or forbids.
	Action string `json:"action"`
	// Reads says that the method changes nothing.
	Reads bool `json:"reads"`
	// OnBoard says that the method acts on one board, which the caller names beside
	// the body.
	OnBoard bool `json:"onBoard"`
	// Bytes is the largest body the method takes.
	Bytes int `json:"bytes"`

	request, answer reflect.Type
	call            func(ctx context.Context, p Principal, b id.Board, body []byte) (any, error)
}

// RequestSchema is the JSON Schema of the method's body.
func (m *Method) RequestSchema() json.RawMessage { return wire.Schema(m.request) }

// AnswerSchema is the JSON Schema of the method's answer.
func (m *Method) AnswerSchema() json.RawMessage { return wire.Schema(m.answer) }

// Table is the one list of what can be called. Areas fill it when the system is
// opened; then it does not change.
type Table struct{ methods map[string]*Method }

// NewTable returns an empty table.
func NewTable() *Table { return &Table{methods: map[string]*Method{}} }

// Define adds a method whose body has the type Req and whose answer the type Ans. A
// name that is taken is a defect of the program and panics.
func Define[Req, Ans any](t *Table, m Method, call func(ctx context.Context, p Principal, b id.Board, req Req) (Ans, error)) {
	if t.methods[m.Name] != nil {
		panic(fmt.Sprintf("control: method %s is defined twice", m.Name))
	}
	m.request, m.answer = reflect.TypeFor[Req](), reflect.TypeFor[Ans]()
	m.call = func(ctx context.Context, p Principal, b id.Board, body []byte) (any, error) {
		var req Req
		if len(body) == 0 {
			body = []byte("{}")
		}
		if err := wire.Decode(body, &req); err != nil {
			return nil, err
		}
		return call(ctx, p, b, req)
	}
	t.methods[m.Name] = &m
}

// Methods lists the methods by name.
func (t *Table) Methods() []*Method {
	out := make([]*Method, 0, len(t.methods))
	for _, m := range t.methods {
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Call calls a method by name with a JSON body, for a door. The principal is who
// signed in; no body can name another.
func (t *Table) Call(ctx context.Context, p Principal, name string, b id.Board, body []byte) (any, error) {
	m := t.methods[name]
	if m == nil {
		return nil, refusal.New(refusal.UnknownCall, name, "there is no method %q", name).
			WithFix("slate call without a method lists them")
	}
	if len(body) > m.Bytes {
		return nil, refusal.New(refusal.TooLarge, name, "the body has %d bytes, the limit of %s is %d", len(body), name, m.Bytes)
	}
	if m.OnBoard {
		if err := id.CheckName("board", string(b)); err != nil {
			return nil, refusal.New(refusal.InvalidRequest, "board", "%s acts on a board: %v", name, err)
		}
	} else if b != "" {
		return nil, refusal.New(refusal.InvalidRequest, "board", "%s acts on no board beside its body; it was called for board %q", name, b)
	}
	return m.call(ctx, p, b, body)
}
