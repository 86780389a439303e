package program_test

import (
	"bytes"
	"testing"

	"github.com/slate-agents/slate/agent/agenttest"
	"github.com/slate-agents/slate/internal/program"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// FuzzCalls takes any bytes as what a program wrote. Each line gets exactly one
// answer, in order, on one line, in the form of the protocol; only a line that is
// answered with ok touches the board; nothing ends the session but its bounds.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{
		fact, `{"id":"a","call":"readContext","with":{"field":"facts"}}` + "\n" + fact + "\n",
		`{"call":"regions"}` + "\r\n\n" + `{"call":"level","with":{"region":"facts","limit":1,"cursor":"1"}}`,
		`{"id":-1.5e3,"call":"premise","with":{"region":"count"}}`, `{"id":1,"call":"changes","with":{"limit":-1}}`,
		`{"call":"putBlob","with":{"base64":"aGk="}}`, `{"call":"standing","with":null}`, `{"call":"standing","with":{}}`,
		`{"call":"updateContext","with":{"field":"hypotheses","key":"agent:lead","value":{"a":[1,2,{"b":null}]}}}`,
		`{"call":"updateContext","with":{"field":"count","value":1e2}}`, "\x00\xff\n{\n[]\n\"\n", `{"id":{},"call":"x"}`, `{"id":null}`,
		`{"call":"updateContext","with":{"field":"facts","value":"\u2028<&>\ud83d\ude00"}}`,
		"{\"id\":\"\xff\"}", `{"id":"\ud800","call":"regions"}`, `{"id":"a\u0000","x":1}`, // an id that cannot be sent back
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		b := newSurface()
		s := b.Summons("investigate", "Find out.", "facts")
		count := bytes.Count(stdout, []byte("\n"))
		if len(stdout) > 0 && stdout[len(stdout)-1] != '\n' {
			count++
		}
		lines, err := program.Answers(t.Context(), s, b, bytes.NewReader(stdout), program.Bounds{Calls: 1 << 20, BadLines: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != count {
			t.Fatalf("%d lines got %d answers", count, len(lines))
		}
		position, fine := s.Position, 0
		for _, line := range lines {
			if bytes.IndexByte(line, '\n') != len(line)-1 {
				t.Fatalf("an answer is not one line: %q", line)
			}
			var r wire.CallResult
			if err := wire.Decode(line, &r); err != nil {
				t.Fatalf("an answer is not one: %v\n%s", err, line)
			}
			if r.OK == (r.Refusal != nil) || r.OK != (r.Result != nil) || !r.Live || r.Position < position {
				t.Fatalf("an answer that makes no sense: %s", line)
			}
			if !r.OK && (r.Refusal.Code == "" || r.Refusal.Message == "" || r.Refusal.Fix == "") {
				t.Fatalf("a refusal that does not help: %s", line)
			}
			position = r.Position
			if r.OK {
				fine++
			}
		}
		calls := 0
		for _, c := range b.Calls() {
			if c.Refused == "" {
				calls++
			}
		}
		if standing := bytes.Count(stdout, []byte("standing")); calls > fine || calls+standing < fine {
			t.Fatalf("%d calls were ok, %d reached the surface: %v", fine, calls, b.Calls())
		}
	})
}

// TestBoundsCountExactly: the allowed lines are answered, the next one ends it.
func TestBoundsCountExactly(t *testing.T) {
	answers := func(text string, bounds program.Bounds) (int, error) {
		b := newSurface()
		lines, err := program.Answers(t.Context(), b.Summons("investigate", "Find out."), b, bytes.NewReader([]byte(text)), bounds)
		return len(lines), err
	}
	good, bad := `{"call":"regions"}`+"\n", "bad\n"
	for _, c := range []struct {
		text   string
		bounds program.Bounds
		n      int
		ok     bool
	}{
		{good + good, program.Bounds{Calls: 2}, 2, true},
		{good + good + good, program.Bounds{Calls: 2}, 2, false},
		{bad + bad + good, program.Bounds{BadLines: 2}, 3, true},
		{bad + good + bad + bad + good, program.Bounds{BadLines: 2}, 4, false},
		// A refusal of the surface is not a bad line.
		{`{"call":"readContext","with":{"field":"no"}}` + "\n" + bad + good, program.Bounds{BadLines: 1}, 3, true},
	} {
		if n, err := answers(c.text, c.bounds); n != c.n || (err == nil) != c.ok {
			t.Errorf("%q: %d answers, %v", c.text, n, err)
		}
	}
}

// TestLinesOfEveryLength crosses the reader's buffer and the line limit.
func TestLinesOfEveryLength(t *testing.T) {
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, wire.MaxLine - 1, wire.MaxLine, wire.MaxLine + 1, wire.MaxLine + 64<<10} {
		head, tail := `{"call":"updateContext","with":{"field":"incident","value":"`, `"}}`
		text := head + string(bytes.Repeat([]byte("x"), size-len(head)-len(tail))) + tail
		for _, end := range []string{"", "\n", "\n" + fact} {
			b := newSurface()
			lines, err := program.Answers(t.Context(), b.Summons("investigate", "Find out."), b, bytes.NewReader([]byte(text+end)), program.Bounds{})
			if err != nil {
				t.Fatal(err)
			}
			var r wire.CallResult
			if err := wire.Decode(lines[0], &r); err != nil {
				t.Fatal(err)
			}
			code := refusal.Code("")
			if r.Refusal != nil {
				code = r.Refusal.Code
			}
			want := refusal.Code("")
			switch {
			case size > wire.MaxLine:
				want = refusal.BadLine
			case size > wire.DefaultLimits.Bytes:
				want = refusal.TooLarge
			}
			if code != want {
				t.Errorf("a line of %d bytes: %q, want %q", size, code, want)
			}
			if len(end) > 1 && len(lines) != 2 {
				t.Errorf("a line of %d bytes swallowed the next", size)
			}
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	line := []byte(`{"id":1,"call":"updateContext","with":{"field":"count","value":7}}` + "\n")
	for b.Loop() {
		surface := agenttest.New("a", agenttest.Field{Name: "count", Type: "integer"})
		s := surface.Summons("investigate", "Count.")
		if _, err := program.Answers(b.Context(), s, surface, bytes.NewReader(bytes.Repeat(line, 1000)), program.Bounds{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/call")
}

func BenchmarkSummonsProgram(b *testing.B) {
	surface := newSurface()
	s := surface.Summons("investigate", "Find out.", "facts")
	body := program.Body(program.Command{Args: []string{"sh", "-c", facts + "exit 0"}}, nil)
	for b.Loop() {
		if err := body(b.Context(), s, surface); err != nil {
			b.Fatal(err)
		}
	}
}
