package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/agent/agenttest"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Example tests a body that adds a fact when there is none.
func Example() {
	body := func(ctx context.Context, s *wire.Summons, b agent.Surface) error {
		for _, asked := range agent.Unmet(s) {
			if _, err := b.UpdateContext(ctx, asked.Field, "found by "+s.Agent); err != nil {
				return err
			}
		}
		return nil
	}
	b := agenttest.New("log_analyst", agenttest.Field{Name: "facts", Type: "list", Of: "string"})
	err := body(context.Background(), b.Summons("investigate", "Find out.", "facts"), b)
	fmt.Println(err, b.Calls(), b.Value("facts"))
	// Output: <nil> [updateContext facts "found by log_analyst"] ["found by log_analyst"]
}

func TestSurfaceRefusesLikeAMachine(t *testing.T) {
	b := agenttest.New("a",
		agenttest.Field{Name: "text", Type: "string"}, agenttest.Field{Name: "n", Type: "integer"}, agenttest.Field{Name: "on", Type: "boolean"},
		agenttest.Field{Name: "ratio", Type: "number"}, agenttest.Field{Name: "pick", Type: "enum", Values: []string{"x", "y"}},
		agenttest.Field{Name: "list", Type: "list", Of: "integer"}, agenttest.Field{Name: "map", Type: "map", Of: "string"},
		agenttest.Field{Name: "free", Type: "map", Of: "string"}, agenttest.Field{Name: "data", Type: "blob"})
	b.Gathered = []string{"map"}
	for _, c := range []struct {
		field, key string
		value      any
		code       refusal.Code
	}{
		{"text", "", "t", ""}, {"text", "", 1, refusal.WrongType}, {"text", "k", "t", refusal.ForeignKey},
		{"n", "", 1, ""}, {"n", "", 1.5, refusal.WrongType}, {"n", "", "1", refusal.WrongType}, {"n", "", nil, refusal.WrongType},
		{"on", "", true, ""}, {"on", "", 0, refusal.WrongType}, {"ratio", "", 1.5, ""}, {"ratio", "", []int{}, refusal.WrongType},
		{"pick", "", "x", ""}, {"pick", "", "z", refusal.NotInEnum}, {"list", "", 1, ""}, {"list", "", []int{1}, refusal.WrongType},
		{"map", "", "v", ""}, {"map", "agent:a", "v", ""}, {"map", "agent:b", "v", refusal.ForeignKey}, {"free", "any", "v", ""},
		{"none", "", 1, refusal.UndeclaredField}, {"text", "", "a\x00", refusal.InvalidContent}, {"data", "", "digest", ""},
	} {
		if _, err := b.UpdateEntry(t.Context(), c.field, c.key, c.value); refusal.CodeOf(err) != c.code || c.code == "" && err != nil {
			t.Errorf("%s[%s] = %v: %v, want %q", c.field, c.key, c.value, err, c.code)
		}
	}
	if n, calls := 22, b.Calls(); len(calls) != n || calls[1].Refused != refusal.WrongType {
		t.Errorf("calls: %v", calls)
	}
	b.End()
	if _, err := b.UpdateContext(t.Context(), "text", "t"); refusal.CodeOf(err) != refusal.StaleSummons {
		t.Errorf("%v", err)
	}
	if s, err := b.Standing(t.Context()); s.Live || err != nil {
		t.Errorf("%+v %v", s, err)
	}
}

func TestSurfacePages(t *testing.T) {
	b := agenttest.New("a", agenttest.Field{Name: "list", Type: "list", Of: "integer"}, agenttest.Field{Name: "n", Type: "integer"})
	for i := range 7 {
		b.Seed("other", "list", i)
		b.Seed("other", "n", i)
	}
	var got []string
	for e, err := range agent.LevelEntries(t.Context(), small{b}, "list") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Content))
	}
	if fmt.Sprint(got) != "[0 1 2 3 4 5 6]" {
		t.Errorf("%v", got)
	}
	if u, err := b.UpdateContext(t.Context(), "list", 3); u.Repeated || err != nil {
		t.Errorf("another writer's element is no repeat: %+v %v", u, err)
	}
	if u, err := b.UpdateContext(t.Context(), "list", 3); !u.Repeated || err != nil {
		t.Errorf("its own element is: %+v %v", u, err)
	}
	if p, err := b.Premise(t.Context(), "n"); p.Version != 7 || string(p.Value) != "6" || err != nil {
		t.Errorf("%+v %v", p, err)
	}
	for _, err := range agent.LevelEntries(t.Context(), b, "n") {
		if refusal.CodeOf(err) != refusal.WrongKind {
			t.Errorf("%v", err)
		}
	}
	broken := errors.New("broken")
	b.Before = func(context.Context, agenttest.Call) error { return broken }
	if _, err := agent.Get[int](t.Context(), b, "n"); err != broken {
		t.Errorf("%v", err)
	}
}

// small asks for pages of two.
type small struct{ agent.Reads }

func (s small) Level(ctx context.Context, region string, page wire.Page) (wire.Entries, error) {
	page.Limit = 2
	return s.Reads.Level(ctx, region, page)
}
