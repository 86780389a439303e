package slate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// bodies are a good body for every method that needs one. A new method without one
// here fails the test below if the empty body is not enough.
var bodies = map[string]string{
	"blob.get":           `{"digest": "` + strings.Repeat("0", 64) + `"}`,
	"blob.put":           `{"base64": "aGVsbG8="}`,
	"board.abort":        `{"reason": "enough"}`,
	"board.acknowledge":  `{"through": 1}`,
	"board.attach":       `{"board": "theirs"}`,
	"board.create":       `{"board": "mine", "regions": [{"name": "facts", "kind": "level"}]}`,
	"board.erase":        `{"seqs": [1]}`,
	"board.level":        `{"region": "facts"}`,
	"board.premise":      `{"region": "window"}`,
	"board.register":     `{"name": "ann"}`,
	"board.writeLevel":   `{"region": "facts", "content": 1}`,
	"board.writePremise": `{"region": "window", "expect": 0, "content": 1}`,
	"machine.diff":       `{"from": 1}`,
	"machine.migrate":    `{"document": ` + quoted(oneState) + `}`,
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func body(m *control.Method) string {
	if b, ok := bodies[m.Name]; ok {
		return b
	}
	return `{}`
}

func inMemory(t *testing.T) *slate.System {
	t.Helper()
	sys, err := slate.Memory(context.Background(), slate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, sys) })
	return sys
}

func TestEveryMethodTakesWhatItsSchemaTakesAndNothingElse(t *testing.T) {
	ctx := context.Background()
	sys := inMemory(t)
	for _, m := range sys.Methods() {
		t.Run(m.Name, func(t *testing.T) {
			if m.Summary == "" || m.Action == "" || m.Bytes <= 0 {
				t.Errorf("incomplete: %+v", m)
			}
			request := compiled(t, m.RequestSchema())
			compiled(t, m.AnswerSchema())
			if err := request.Validate(parsed(t, body(m))); err != nil {
				t.Errorf("the schema refuses %s: %v", body(m), err)
			}
			b := id.Board("")
			if m.OnBoard {
				b = "b"
			}
			for _, bad := range []string{`[]`, `{"nobody": 1}`, `{`, `{} {}`, `"x"`} {
				if _, err := sys.Call(ctx, "ann", m.Name, b, []byte(bad)); refusal.CodeOf(err) != refusal.InvalidRequest {
					t.Errorf("%s: %v", bad, err)
				}
			}
			if _, err := sys.Call(ctx, "ann", m.Name, b, bytes.Repeat([]byte(" "), m.Bytes+1)); refusal.CodeOf(err) != refusal.TooLarge {
				t.Errorf("a body over the limit: %v", err)
			}
			other := id.Board("b")
			if m.OnBoard {
				other = "\x00"
			}
			if _, err := sys.Call(ctx, "ann", m.Name, other, []byte(body(m))); refusal.CodeOf(err) != refusal.InvalidRequest {
				t.Errorf("on board %q: %v", other, err)
			}
		})
	}
	if _, err := sys.Call(ctx, "ann", "board.shout", "", nil); refusal.CodeOf(err) != refusal.UnknownCall {
		t.Errorf("a method that is not there: %v", err)
	}
}

// TestATenantSeesNothingOfAnother calls every method that acts on a board as another
// tenant of the same store: the answer is that of a board that is not there.
func TestATenantSeesNothingOfAnother(t *testing.T) {
	ctx := context.Background()
	data := filepath.Join(t.TempDir(), "data")
	theirs, err := slate.Open(ctx, slate.Options{Data: data, Tenant: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, theirs)
	_, _, err = theirs.Create(ctx, wire.CreateBoard{Board: "theirs", Regions: []wire.RegionDecl{
		{Name: "facts", Kind: wire.Level}, {Name: "window", Kind: wire.Premise}}, Agents: []wire.AgentDecl{{Name: "ann"}},
		Opening: []wire.Opening{{Region: "window", Content: json.RawMessage(`"secret"`)}}}, board.Callables{})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := theirs.PutBlob(ctx, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := slate.Open(ctx, slate.Options{Data: data, Tenant: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, ours)
	for _, m := range ours.Methods() {
		if !m.OnBoard {
			continue
		}
		answer, err := ours.Call(ctx, "ann", m.Name, "theirs", []byte(body(m)))
		if refusal.CodeOf(err) != refusal.UnknownBoard {
			t.Errorf("%s: %v, %v", m.Name, answer, err)
		}
		_, absent := ours.Call(ctx, "ann", m.Name, "absent", []byte(body(m)))
		if want := strings.ReplaceAll(fmt.Sprint(absent), "absent", "theirs"); fmt.Sprint(err) != want {
			t.Errorf("%s tells a board that is there (%v) from one that is not (%v)", m.Name, err, absent)
		}
	}
	if list, err := ours.Boards(ctx, wire.Page{}); err != nil || len(list.Boards) != 0 {
		t.Errorf("the list has %v, %v", list.Boards, err)
	}
	if data, err := ours.Blob(ctx, digest); refusal.CodeOf(err) != refusal.UnknownBlob {
		t.Errorf("a blob: %q, %v", data, err)
	}
}

// hostile is content that no store may get to see, each with the word that its
// refusal must have.
func hostile() map[string]struct {
	content string
	code    refusal.Code
	says    string
} {
	var million strings.Builder
	million.WriteString(`{"0":0`)
	for i := 1; i < 100_000; i++ {
		fmt.Fprintf(&million, `,"%d":0`, i)
	}
	million.WriteString(`}`)
	return map[string]struct {
		content string
		code    refusal.Code
		says    string
	}{
		"no JSON":               {`{"a":`, refusal.InvalidContent, ""},
		"two values":            {`1 2`, refusal.InvalidContent, ""},
		"a NUL":                 {`"a\u0000b"`, refusal.InvalidContent, "NUL"},
		"an unpaired surrogate": {`"\ud800"`, refusal.InvalidContent, "surrogate"},
		"a name twice":          {`{"a":1,"a":2}`, refusal.InvalidContent, ""},
		"100 MB":                {`"` + strings.Repeat("x", 100<<20) + `"`, refusal.TooLarge, "1048576"},
		"depth 100,000":         {strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), refusal.TooLarge, "100"},
		"a great many keys":     {million.String(), refusal.TooLarge, "10000"},
	}
}

func TestHostileContentStopsAtTheBoundary(t *testing.T) {
	ctx := context.Background()
	sys := inMemory(t)
	b, _, err := sys.Create(ctx, wire.CreateBoard{Board: "b", Regions: []wire.RegionDecl{
		{Name: "facts", Kind: wire.Level}, {Name: "window", Kind: wire.Premise}}}, board.Callables{})
	if err != nil {
		t.Fatal(err)
	}
	updated := map[string]error{}
	_, err = sys.RunMachine(ctx, slate.RunOptions{Machine: small(t).Machine, Board: "m", Agents: map[string]slate.Agent{
		"a": {Body: func(ctx context.Context, _ *wire.Summons, s agent.Surface) error {
			for name, h := range hostile() {
				_, updated[name] = s.UpdateContext(ctx, "answer", json.RawMessage(h.content))
			}
			_, err := s.UpdateContext(ctx, "answer", "done")
			return err
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range hostile() {
		content := json.RawMessage(h.content)
		_, level := b.WriteLevel(ctx, "ann", wire.LevelWrite{Region: "facts", Content: content})
		_, premise := b.WritePremise(ctx, "ann", wire.PremiseWrite{Region: "window", Content: content})
		_, _, create := sys.Create(ctx, wire.CreateBoard{Board: "c", Regions: []wire.RegionDecl{{Name: "window", Kind: wire.Premise}},
			Opening: []wire.Opening{{Region: "window", Content: content}}}, board.Callables{})
		for what, err := range map[string]error{"a level": level, "a premise": premise, "an opening value": create, "a field": updated[name]} {
			r, ok := refusal.As(err)
			if !ok || r.Code != h.code || !strings.Contains(r.Error(), h.says) {
				t.Errorf("%s as %s: %.300v", name, what, err)
			}
		}
	}
	if state, err := b.Show(ctx); err != nil || state.Head != 0 {
		t.Errorf("the board ends at %d, %v", state.Head, err)
	}
	if _, err := sys.Board("c").Show(ctx); refusal.CodeOf(err) != refusal.UnknownBoard {
		t.Errorf("a board was made: %v", err)
	}
}

func compiled(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("body.json", parsed(t, string(schema))); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("body.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
