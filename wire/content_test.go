package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slate-agents/slate/refusal"
)

func TestCheckTakes(t *testing.T) {
	for _, in := range []string{
		`null`, `true`, `0`, `-1.5e+9`, `""`, `"a"`, ` {"a" : [ 1, {} ] } `, `[]`, `{}`, `"\ud83d\ude00"`, `"\\u0000"`,
		`{"a":{"a":{"a":1}}}`, `[{"a":1},{"a":1}]`, `"` + strings.Repeat("x", 100_000) + `"`, `99999999999999999999999999`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100),
		`[` + strings.Repeat("1,", 9_999) + `1]`,
	} {
		if r := CheckContent("content", json.RawMessage(in)); r != nil {
			t.Errorf("%.40s: %v", in, r)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	million := new(strings.Builder)
	million.WriteString(`{"a":[{`)
	for i := range 20_000 {
		fmt.Fprintf(million, `"%d":1,`, i)
	}
	million.WriteString(`"z":1}]}`)
	many := `[` + strings.Repeat(`[`+strings.Repeat("1,", 999)+`1],`, 101) + `1]`
	for _, c := range []struct {
		name, in string
		code     refusal.Code
		ref      string
		says     string
	}{
		{"empty", ``, refusal.InvalidContent, "content", "is empty"},
		{"blank", ` `, refusal.InvalidContent, "content", "is empty"},
		{"not json", `hello`, refusal.InvalidContent, "content", "is not valid JSON"},
		{"cut short", `{"a":[1`, refusal.InvalidContent, "content.a", "ends at byte 7"},
		{"two values", `1 2`, refusal.InvalidContent, "content", "goes on"},
		{"trailing comma", `[1,]`, refusal.InvalidContent, "content", "is not valid JSON"},
		{"duplicate", `{"a":[{"k":1,"k":2}]}`, refusal.InvalidContent, "content.a[0].k", "given twice"},
		{"duplicate by escape", `{"k":1,"\u006b":2}`, refusal.InvalidContent, "content.k", "given twice"},
		{"lone surrogate", `{"a":"\ud800x"}`, refusal.InvalidContent, "content.a", "surrogate"},
		{"invalid UTF-8", "{\"a\":\"\xc3\"}", refusal.InvalidContent, "content.a", "UTF-8"},
		{"raw NUL in a string", "{\"a\":\"x\x00\"}", refusal.InvalidContent, "content", "NUL character at byte 7"},
		{"raw NUL after the value", "1\x00", refusal.InvalidContent, "content", "NUL character at byte 1"},
		{"escaped NUL", `{"a":["x\u0000y"]}`, refusal.InvalidContent, "content.a[0]", "escaped NUL"},
		{"escaped NUL in a name", `{"a\u0000":1}`, refusal.InvalidContent, `content["a\x00"]`, "escaped NUL"},
		{"bytes", `"` + strings.Repeat("x", 1<<20) + `"`, refusal.TooLarge, "content", "the limit of bytes is 1048576"},
		{"depth", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, refusal.TooLarge, "", "the limit of depth is 100"},
		{"depth 100,000", strings.Repeat("[", 100_000), refusal.TooLarge, "", "the limit of depth is 100"},
		{"members", million.String(), refusal.TooLarge, "content.a[0]", "the limit of members is 10000"},
		{"elements", `{"x":[` + strings.Repeat("1,", 10_000) + `1]}`, refusal.TooLarge, "content.x", "elements; the limit of members is 10000"},
		{"values", many, refusal.TooLarge, "content", "the limit of values is 100000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := CheckContent("content", json.RawMessage(c.in))
			if r == nil {
				t.Fatal("not refused")
			}
			if r.Code != c.code || !strings.Contains(r.Message, c.says) || r.Fix == "" {
				t.Errorf("got %v, want %s saying %q", r, c.code, c.says)
			}
			if c.ref != "" && r.Ref != c.ref {
				t.Errorf("ref %q, want %q", r.Ref, c.ref)
			}
			if len(r.Message) > 800 {
				t.Errorf("the message has %d bytes", len(r.Message))
			}
		})
	}
}

func TestCheckCountsExactly(t *testing.T) {
	content := json.RawMessage(`{"a":[1,2,3],"b":{"c":"d"}}`) // 3 containers, 4 scalars
	for _, c := range []struct {
		limits Limits
		ok     bool
	}{
		{Limits{}, true},
		{Limits{Values: 7}, true}, {Limits{Values: 6}, false},
		{Limits{Members: 3}, true}, {Limits{Members: 2}, false},
		{Limits{Depth: 2}, true}, {Limits{Depth: 1}, false},
		{Limits{Bytes: len(content)}, true}, {Limits{Bytes: len(content) - 1}, false},
	} {
		if r := c.limits.Check("content", content); (r == nil) != c.ok {
			t.Errorf("%+v: %v", c.limits, r)
		}
	}
}

// TestCheckIsQuickOnHugeValues holds that size is looked at before anything else,
// and that no limit set still means no stack as deep as the value.
func TestCheckIsQuickOnHugeValues(t *testing.T) {
	huge := bytes.Repeat([]byte("["), 100<<20)
	begin := time.Now()
	if r := CheckContent("content", huge); r == nil || r.Code != refusal.TooLarge {
		t.Fatalf("100 MB: %v", r)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("100 MB took %v to refuse", took)
	}
	if r := (Limits{}).Check("content", huge[:1<<20]); r == nil || r.Code != refusal.TooLarge || r.Detail["most"] != maxDepth {
		t.Errorf("a million deep without limits: %v", r)
	}
}

// FuzzCheckContent compares Check with encoding/json and with a plain reading of the
// rules: what is taken is valid, is UTF-8, has no NUL and no name twice, and what is
// refused though encoding/json takes it breaks one of them.
func FuzzCheckContent(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"b":null}],"c":"\ud83d\ude00"}`, `"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`"\ud800"`, "\"\xff\"", `[[[[]]]]`, `1e5`, `-0`, `01`, ` 1 `, `1 2`, `nul`, `{"":{"":1}}`, "\ufeff1", "[1,\n2]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := CheckContent("content", data)
		again := CheckContent("content", data)
		if (r == nil) != (again == nil) || r != nil && r.Message != again.Message {
			t.Fatalf("twice the same value: %v, then %v", r, again)
		}
		valid := json.Valid(data)
		if r == nil {
			if !valid || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
				t.Fatalf("took %q", data)
			}
			if problem := problemIn(json.NewDecoder(bytes.NewReader(data))); problem != "" {
				t.Fatalf("took %q, which has %s", data, problem)
			}
			return
		}
		if r.Fix == "" || !strings.HasPrefix(r.Ref, "content") {
			t.Fatalf("a refusal without fix or place: %#v", r)
		}
		if valid && utf8.Valid(data) && r.Code == refusal.InvalidContent &&
			!bytes.Contains(data, []byte(`\u`)) && problemIn(json.NewDecoder(bytes.NewReader(data))) == "" {
			t.Fatalf("refused %q: %v", data, r)
		}
	})
}

// problemIn reads the first value and names what the rules forbid in it.
func problemIn(dec *json.Decoder) string {
	tok, err := dec.Token()
	if err != nil {
		return err.Error()
	}
	if s, ok := tok.(string); ok {
		return problemInText(s)
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return ""
	}
	names := map[string]bool{}
	for dec.More() {
		if open == '{' {
			tok, err := dec.Token()
			if err != nil {
				return err.Error()
			}
			name := tok.(string)
			if names[name] {
				return "a name twice"
			}
			names[name] = true
			if p := problemInText(name); p != "" {
				return p
			}
		}
		if p := problemIn(dec); p != "" {
			return p
		}
	}
	if _, err := dec.Token(); err != nil {
		return err.Error()
	}
	return ""
}

func problemInText(s string) string {
	if strings.ContainsRune(s, 0) {
		return "a NUL"
	}
	return ""
}

func BenchmarkCheckContent(b *testing.B) {
	small := json.RawMessage(`{"fact":"connections reached 100 of 100 at 12:00:05","evidence":[{"file":"postgresql.log","line":4711,"at":"2026-01-02T12:00:05Z"},{"file":"activity.csv","line":12,"at":"2026-01-02T12:00:04Z"}],"confidence":0.9,"kind":"observation","tags":["db","limit"],"seen":true,"note":"sampled once a second"}`)
	deep := json.RawMessage(strings.Repeat("[", 100_000))
	large := json.RawMessage(`[` + strings.Repeat(`{"a":"some text here","b":[1,2,3]},`, 9_999) + `1]`)
	for _, c := range []struct {
		name string
		in   json.RawMessage
	}{{fmt.Sprintf("small-%d", len(small)), small}, {"deep-100000", deep}, {fmt.Sprintf("large-%d", len(large)), large}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.in)))
			b.ReportAllocs()
			for b.Loop() {
				CheckContent("content", c.in)
			}
		})
	}
}
