package draw

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slate-agents/slate/wire"
)

// hostile are texts that would mean something to one of the formats.
var hostile = []string{
	"", " ", "\x00\x1b[31m", "\xff\xfe", "a\nb\r\n\tc", `</text><script>alert(1)</script>`, `]]>`, `<!--`, `&amp;&bogus;`,
	`"`, `'`, `\`, `\N\G\"`, `"]; x [label="`, "end", "subgraph", "graph TD", "%%{init: {}}%%", "%% comment", "n0 --> n1",
	"1. list", "- list", "* list", "+ list", "# heading", "`code`", "**bold**", "_em_", "~~x~~", "| a |", "> quote", "---", "===",
	"https://example.org", "www.example.org", "a@example.org", "fa:fa-ban", "#quot;", "#35;", "ﬂ°°35¶ß", "<br/>", "$$x$$",
	"\u202egnp.exe", "e\u0301\u0301", "👩‍👩‍👧", "価格", strings.Repeat("x", 5000), strings.Repeat("é ", 3000), "\U0010FFFF\uFFFE",
}

// labelled is a graph, and a story, with one text everywhere.
func labelled(s string) (wire.Graph, Story) {
	g := wire.Graph{
		Title: s,
		Nodes: []wire.Node{{ID: "a", Label: s, Lines: []string{s, s}, Role: s}, {ID: s}, {ID: "b", Label: s, Role: "start"}},
		Edges: []wire.Edge{{From: "a", To: s, Label: s, Lines: []string{s}, Count: 2}, {From: s, To: "b"}, {From: "b", To: "a", Label: s}, {From: s, To: s, Label: s}},
	}
	st := Story{Title: s, Lanes: []string{s, "a"}}
	for _, k := range []MarkKind{Band, Begin, Write, Refusal, Finish, Fail, Clear, Fire, End, Note, MarkKind(s)} {
		st.Marks = append(st.Marks, Mark{Kind: k, Lane: s, Label: s, Text: s, Guards: []Guard{{s, true}}}, Mark{Kind: k, Lane: "a", Text: s}, Mark{Kind: k, Label: s})
	}
	return g, st
}

// safe fails a test over pictures that a text has broken.
func safe(t *testing.T, s string) {
	t.Helper()
	g, story := labelled(s)
	var svg, tale, mermaid, dot bytes.Buffer
	for _, err := range []error{SVG(&svg, g), Timeline(&tale, story), Mermaid(&mermaid, g), DOT(&dot, g)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range [][]byte{svg.Bytes(), tale.Bytes()} {
		wellFormed(t, b)
		if bytes.Contains(b, []byte("<script")) || bytes.Contains(b, []byte("href")) && !strings.Contains(s, "href") {
			t.Fatalf("%q: a picture holds a script or a link", s)
		}
	}
	mermaidSafe(t, mermaid.String())
	dotSafe(t, dot.String())
}

var mermaidLine = regexp.MustCompile(`^(flowchart TD|---|title: ".*"|    (n\d+(\["[^"]*"\]|\(\["[^"]*"\]\)|\[\["[^"]*"\]\])|n\d+ (-->|==>|-\.->)(\|"[^"]*"\|)? n\d+|classDef [a-z]+Node [^"]*|class [n\d,]+ [a-z]+Node))$`)

// mermaidSafe checks that every line is one of those Mermaid writes, and that what
// stands in quotes has nothing in it but plain signs, numbered ones and breaks.
func mermaidSafe(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatal("Mermaid: not UTF-8")
	}
	numbered := regexp.MustCompile(`#\d+;|<br/>`)
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if !mermaidLine.MatchString(line) {
			t.Fatalf("Mermaid: line %q", line)
		}
		if strings.HasPrefix(line, "title: ") {
			var title string
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "title: ")), &title); err != nil {
				t.Fatalf("Mermaid: %s: %v", line, err)
			}
			if strings.ContainsAny(title, "<>&") {
				t.Fatalf("Mermaid: title %q", title)
			}
			continue
		}
		if _, text, ok := strings.Cut(line, `"`); ok {
			text, _, _ = strings.Cut(text, `"`)
			if text == "" {
				t.Fatalf("Mermaid: empty label in %q", line)
			}
			if rest := numbered.ReplaceAllString(text, ""); strings.ContainsAny(rest, "#;<>&`*_~[]{}|\\%:@+-$^()\"") {
				t.Fatalf("Mermaid: label %q", text)
			}
		}
	}
}

var dotLine = regexp.MustCompile(`^(digraph \{|\}|    (graph|node|edge|n\d+|n\d+ -> n\d+)( \[[a-z]+=("([^"\\]|\\.)*"|[a-z0-9]+)(, [a-z]+=("([^"\\]|\\.)*"|[a-z0-9]+))*\])?)$`)

// dotSafe checks that every line is one of those DOT writes.
func dotSafe(t *testing.T, s string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if !dotLine.MatchString(line) {
			t.Fatalf("DOT: line %q", line)
		}
	}
}

func TestHostileTexts(t *testing.T) {
	for _, s := range hostile {
		t.Run(fmt.Sprintf("%.20q", s), func(t *testing.T) { safe(t, s) })
	}
}

func FuzzLabels(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(safe)
}

func TestMermaidEscape(t *testing.T) {
	for in, want := range map[string]string{
		"context.status == 'solved'": "context.status == 'solved'",
		`say "hi"`:                   "say #34;hi#34;",
		"a<b && c>d":                 "a#60;b #38;#38; c#62;d",
		"1. first":                   "1#46; first",
		"- item":                     "#45; item",
		"www.x":                      "www#46;x",
		"http://x":                   "http#58;//x",
		"#35;":                       "#35;35#59;",
		"`a`":                        "#96;a#96;",
		"ﬂ°":                         "#64258;#8288;#176;",
		"¶ß":                         "#182;#8288;ß",
		"fa:fa-ban":                  "fa#58;#8288;fa#45;ban",
		"$$x$$":                      "#36;#8288;#36;x#36;#8288;#36;",
		"größer 価格":                  "größer 価格",
	} {
		if got := mermaidEscape(in); got != want {
			t.Errorf("mermaidEscape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	f := font{12, false}
	for _, s := range append([]string{"a b", "one two three four five six", "snake_case_name_that_goes_on_and_on"}, hostile...) {
		lines := f.wrap(s, 80, 4)
		if len(lines) > 4 {
			t.Errorf("%.20q: %d lines", s, len(lines))
		}
		for _, l := range lines {
			if f.width(l) > 80 || l == "" || !utf8.ValidString(l) {
				t.Errorf("%.20q: line %q of %d pixels", s, l, f.width(l))
			}
		}
		joined := strings.ReplaceAll(strings.Join(lines, ""), " ", "")
		whole := strings.ReplaceAll(clean(s), " ", "")
		if cut, ok := strings.CutSuffix(joined, "…"); ok && len(lines) == 4 {
			joined, whole = cut, whole[:min(len(whole), len(cut))]
		}
		if joined != whole {
			t.Errorf("%.20q: the lines hold %q, want %q", s, joined, whole)
		}
	}
}
