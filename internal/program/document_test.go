package program_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slate-agents/slate/agent/agenttest"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/wire"
)

const document = "../../docs/agents.md"

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestTheDocumentsAgentsRun runs every agent that docs/agents.md shows.
func TestTheDocumentsAgentsRun(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		language, code := block[1], block[2]
		var cmd []string
		dir := t.TempDir()
		file := filepath.Join(dir, "agent."+language)
		switch language {
		case "sh":
			cmd = []string{file}
		case "python":
			cmd = []string{python(t), file}
		case "go":
			file = filepath.Join(dir, "main.go")
			cmd = []string{filepath.Join(dir, "agent")}
		default:
			continue
		}
		if err := os.WriteFile(file, []byte(code), 0o755); err != nil {
			t.Fatal(err)
		}
		if language == "go" {
			if out, err := exec.Command("go", "build", "-o", cmd[0], file).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		ran[language]++
		t.Run(fmt.Sprintf("%s %d", language, ran[language]), func(t *testing.T) {
			b := newSurface()
			b.Seed("db_expert", "facts", `a "fact"`)
			seen := &events{}
			err := program.Body(program.Command{Args: cmd}, seen.add)(t.Context(), b.Summons("investigate", "Find out.", "facts", "hypotheses"), b)
			if err != nil {
				t.Fatalf("%v\n%+v", err, seen.all())
			}
			if got := b.Value("hypotheses"); language != "sh" && got != `{"agent:log_analyst":"going by: the log says: remaining connection slots are reserved"}` ||
				!strings.HasPrefix(got, `{"agent:log_analyst":"`) {
				t.Errorf("hypotheses: %s", got)
			}
			if refused := seen.of(program.Refused); len(refused) != 0 {
				t.Errorf("refused: %+v", refused)
			}
		})
	}
	if ran["sh"] != 2 || ran["python"] != 1 || ran["go"] != 1 {
		t.Errorf("the document's agents changed: %v", ran)
	}
}

// TestTheDocumentsLinesAreTheProtocols reads every JSON example of the document as
// what it says it is, and holds the tables of calls and bounds to the code.
func TestTheDocumentsLinesAreTheProtocols(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	read := 0
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if block[1] != "json" {
			continue
		}
		for dec := json.NewDecoder(strings.NewReader(block[2])); dec.More(); read++ {
			var line json.RawMessage
			if err := dec.Decode(&line); err != nil {
				t.Fatalf("%v\n%s", err, block[2])
			}
			var into any
			switch {
			case strings.Contains(string(line), `"ok":`):
				into = &wire.CallResult{}
			case strings.Contains(string(line), `"call":`):
				into = &wire.Call{}
			default:
				into = &wire.Summons{}
			}
			if err := wire.Decode(line, into); err != nil {
				t.Errorf("%v\n%s", err, line)
			}
		}
	}
	if read < 4 {
		t.Errorf("the document has %d lines of the protocol", read)
	}
	for _, call := range wire.Calls {
		if !strings.Contains(text, "| `"+call+"` |") {
			t.Errorf("the table of calls lacks %s", call)
		}
	}
	for _, c := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
		if name := c[1]; name != strings.ToUpper(name) && !strings.Contains(strings.Join(wire.Calls, " "), name) {
			switch name {
			case "agent", "attempt", "generation", "deadline", "position", "objective", "requirements", "context", "tools", "entry":
			default:
				t.Errorf("the document has a call %s", name)
			}
		}
	}
}

// TestTheSummonsIsWrittenAsDocumented: members in the document's order, arrays never
// null, no escapes that only HTML needs.
func TestTheSummonsIsWrittenAsDocumented(t *testing.T) {
	b := agenttest.New("a", agenttest.Field{Name: "facts", Type: "list", Of: "string"})
	s := b.Summons("investigate", "Is x < y & z?")
	s.Requirements, s.Tools = nil, nil
	seen := &events{}
	cmd := program.Command{Args: []string{"sh", "-c", `IFS= read -r s; printf '%s\n' "$s" >&2`}}
	if err := program.Body(cmd, seen.add)(t.Context(), s, b); err != nil {
		t.Fatal(err)
	}
	line := seen.logs()[0]
	if !strings.Contains(line, `"objective":"Is x < y & z?","requirements":[],"context":"","tools":[]}`) ||
		!strings.HasPrefix(line, `{"type":"summons","protocol":1,"board":"board","machine":"test","state":"investigate","entry":1,"agent":"a",`) {
		t.Errorf("%s", line)
	}
}
