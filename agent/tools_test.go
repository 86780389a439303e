package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// recorder is a board that remembers what it was asked.
type recorder struct {
	agent.Board
	asked []any
}

func (r *recorder) Regions(context.Context) ([]wire.Region, error) {
	r.asked = append(r.asked, "regions")
	return []wire.Region{{Name: "facts", Kind: wire.Level}}, nil
}

func (r *recorder) Level(_ context.Context, region string, page wire.Page) (wire.Entries, error) {
	r.asked = append(r.asked, wire.ReadRegion{Region: region, Page: page})
	return wire.Entries{}, nil
}

func (r *recorder) Premise(_ context.Context, region string) (wire.PremiseState, error) {
	r.asked = append(r.asked, wire.ReadPremise{Region: region})
	return wire.PremiseState{}, nil
}

func (r *recorder) Changes(_ context.Context, page wire.Page) (wire.Entries, error) {
	r.asked = append(r.asked, page)
	return wire.Entries{}, nil
}

func (r *recorder) WriteLevel(_ context.Context, w wire.LevelWrite) (wire.Result, error) {
	r.asked = append(r.asked, w)
	return wire.Result{}, nil
}

func (r *recorder) WritePremise(_ context.Context, w wire.PremiseWrite) (wire.Result, error) {
	r.asked = append(r.asked, w)
	return wire.Result{}, nil
}

func (r *recorder) Acknowledge(_ context.Context, a wire.Acknowledge) error {
	r.asked = append(r.asked, a)
	return nil
}

// toolCases are one good body a tool, and what the board is asked for it.
var toolCases = map[string]struct {
	with string
	want any
}{
	"regions":      {`{}`, "regions"},
	"level":        {`{"region": "facts", "limit": 3}`, wire.ReadRegion{Region: "facts", Page: wire.Page{Limit: 3}}},
	"premise":      {`{"region": "window"}`, wire.ReadPremise{Region: "window"}},
	"changes":      {`{"cursor": "c"}`, wire.Page{Cursor: "c"}},
	"writeLevel":   {`{"region": "facts", "content": [1, {"a": null}]}`, wire.LevelWrite{Region: "facts", Content: json.RawMessage(`[1, {"a": null}]`)}},
	"writePremise": {`{"region": "window", "expect": 2}`, wire.PremiseWrite{Region: "window", Expect: 2}},
	"acknowledge":  {`{"through": 9}`, wire.Acknowledge{Through: 9}},
}

func TestEveryMethodOfTheSurfaceIsATool(t *testing.T) {
	tools := agent.Tools()
	if len(tools) != len(toolCases) {
		t.Errorf("%d tools, %d cases", len(tools), len(toolCases))
	}
	for _, tool := range tools {
		c, ok := toolCases[tool.Name]
		if !ok {
			t.Errorf("tool %q has no case", tool.Name)
			continue
		}
		if tool.Description == "" {
			t.Errorf("tool %s has no description", tool.Name)
		}
		schema := compile(t, tool)
		if err := schema.Validate(parse(t, c.with)); err != nil {
			t.Errorf("tool %s: its schema refuses %s: %v", tool.Name, c.with, err)
		}
		r := &recorder{}
		if _, err := agent.Use(context.Background(), r, tool.Name, json.RawMessage(c.with)); err != nil {
			t.Errorf("tool %s: %v", tool.Name, err)
		}
		got, _ := json.Marshal(r.asked)
		want, _ := json.Marshal([]any{c.want})
		if string(got) != string(want) {
			t.Errorf("tool %s asked for %s, want %s", tool.Name, got, want)
		}
	}
}

// What a schema refuses the tool refuses too, and the board is never asked.
func TestAToolRefusesWhatItsSchemaRefuses(t *testing.T) {
	for _, tool := range agent.Tools() {
		schema := compile(t, tool)
		for _, with := range []string{`[]`, `{"nobody": 1}`, `{"region": 5}`, `null`, `"x"`} {
			r := &recorder{}
			_, err := agent.Use(context.Background(), r, tool.Name, json.RawMessage(with))
			if refused := refusal.CodeOf(err) == refusal.InvalidRequest; !refused || len(r.asked) > 0 {
				t.Errorf("tool %s with %s: %v, asked %v", tool.Name, with, err, r.asked)
			}
			if schema.Validate(parse(t, with)) == nil {
				t.Errorf("tool %s: its schema takes %s", tool.Name, with)
			}
		}
	}
	_, err := agent.Use(context.Background(), &recorder{}, "shout", nil)
	if r, ok := refusal.As(err); !ok || r.Code != refusal.UnknownCall || !strings.Contains(r.Fix, "writeLevel") {
		t.Errorf("an unknown tool: %v", err)
	}
}

func compile(t *testing.T, tool wire.Tool) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tool.json", parse(t, string(tool.InputSchema))); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("tool.json")
	if err != nil {
		t.Fatalf("tool %s: %v", tool.Name, err)
	}
	return schema
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
