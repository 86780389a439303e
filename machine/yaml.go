package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxDocument is the largest machine document, in bytes.
const MaxDocument = 1 << 20

// Problem is one thing wrong with a document.
type Problem struct {
	File string
	// Line counts from 1; 0 when the problem has no place.
	Line    int
	Message string
	// Fix says what to write instead; empty when the message says it.
	Fix string
}

// String is the one line a person reads: file:line: message (fix).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	b.WriteString(p.Message)
	if p.Fix != "" {
		fmt.Fprintf(&b, " (%s)", p.Fix)
	}
	return b.String()
}

// LoadError lists everything wrong with a document, in order of line.
type LoadError struct{ Problems []Problem }

// Error is one line a problem.
func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// loader reads one document and collects what is wrong with it.
type loader struct {
	file     string
	problems []Problem
}

// report adds a problem; fix may be empty.
func (l *loader) report(line int, fix, format string, args ...any) {
	l.problems = append(l.problems, Problem{File: l.file, Line: line, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// err returns the collected problems in order of line, or nil.
func (l *loader) err() error {
	if len(l.problems) == 0 {
		return nil
	}
	sort.SliceStable(l.problems, func(i, j int) bool { return l.problems[i].Line < l.problems[j].Line })
	return &LoadError{Problems: l.problems}
}

var (
	yamlPlace  = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// parse returns the root node of the only document in data, or nil.
func (l *loader) parse(data []byte) *yaml.Node {
	if len(data) > MaxDocument {
		l.report(0, "", "the document has %d bytes, the limit is %d", len(data), MaxDocument)
		return nil
	}
	for i := range data {
		if data[i] >= utf8.RuneSelf {
			if !utf8.Valid(data[i:]) {
				l.report(badLine(data), "save the file as UTF-8", "not UTF-8")
				return nil
			}
			break
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		l.report(1, `begin with "fsm:"`, "the document is empty")
		return nil
	} else if err != nil {
		l.syntax(err, data)
		return nil
	}
	var next yaml.Node
	if err := dec.Decode(&next); err == nil {
		l.report(next.Line, "keep one machine a file", "the file holds more than one document")
		return nil
	} else if !errors.Is(err, io.EOF) {
		l.syntax(err, data)
		return nil
	}
	if len(doc.Content) != 1 || !l.plain(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// syntax reports what the YAML library refuses, at the line where a person looks.
func (l *loader) syntax(err error, data []byte) {
	m := yamlPlace.FindStringSubmatch(err.Error())
	if m == nil {
		l.report(0, "", "not YAML: %v", err)
		return
	}
	line, _ := strconv.Atoi(m[1])
	lines := strings.Split(string(data), "\n")
	switch name := yamlAnchor.FindStringSubmatch(m[2]); {
	case name != nil:
		line = 1 + slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "*"+name[1]) })
	case strings.HasPrefix(m[2], "did not find expected"):
		line++ // the parser, unlike the scanner, counts lines from 0
	case strings.Contains(m[2], "tab character"):
		for i := max(line-1, 0); i < len(lines); i++ {
			if indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " \t"))]; strings.Contains(indent, "\t") {
				line = i + 1
				break
			}
		}
	}
	l.report(line, "", "not YAML: %s", m[2])
}

// badLine is the line of the first byte that is not UTF-8.
func badLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// plain reports anchors, aliases and merge keys anywhere under the node. They are
// not part of the format, which also shuts out documents that expand without end.
func (l *loader) plain(n *yaml.Node) bool {
	ok := true
	switch {
	case n.Kind == yaml.AliasNode:
		l.report(n.Line, "write the value out", "aliases are not supported")
		return false
	case n.Anchor != "":
		l.report(n.Line, "remove the anchor", "anchors are not supported")
		ok = false
	case n.Kind == yaml.ScalarNode && n.Tag == "!!merge":
		l.report(n.Line, "write the keys out", "merge keys are not supported")
		ok = false
	}
	for _, c := range n.Content {
		ok = l.plain(c) && ok
	}
	return ok
}

// pair is one key and value of a mapping.
type pair struct {
	key   string
	line  int
	value *yaml.Node
}

// pairs are the entries of a mapping in order, with string keys and no duplicates.
// what names the mapping in messages.
func (l *loader) pairs(n *yaml.Node, what string) []pair {
	if n.Kind != yaml.MappingNode {
		l.report(n.Line, "", "%s: must be a mapping, not %s", what, nodeKind(n))
		return nil
	}
	if t := n.Tag; t != "!!map" && t != "" {
		l.report(n.Line, "remove the tag", "%s: the tag %s is not supported", what, t)
	}
	seen := map[string]int{}
	var out []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		key, ok := l.text(k, what+": key")
		if !ok {
			continue
		}
		if first, dup := seen[key]; dup {
			l.report(k.Line, "keep one of them", "%s: key %q is given twice, first on line %d", what, key, first)
			continue
		}
		seen[key] = k.Line
		out = append(out, pair{key, k.Line, v})
	}
	return out
}

// record reads a mapping whose keys are known beforehand.
func (l *loader) record(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	for _, p := range l.pairs(n, what) {
		found := false
		for _, k := range known {
			found = found || k == p.key
		}
		if !found {
			l.report(p.line, "known keys: "+strings.Join(known, ", "), "%s: unknown key %q", what, p.key)
			continue
		}
		out[p.key] = p.value
	}
	return out
}

// items are the elements of a sequence.
func (l *loader) items(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		l.report(n.Line, "", "%s: must be a list, not %s", what, nodeKind(n))
		return nil
	}
	if t := n.Tag; t != "!!seq" && t != "" {
		l.report(n.Line, "remove the tag", "%s: the tag %s is not supported", what, t)
	}
	return n.Content
}

// text reads a string.
func (l *loader) text(n *yaml.Node, what string) (string, bool) {
	v, ok := l.value(n, what)
	if !ok {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		fix := ""
		if n.Kind == yaml.ScalarNode && n.Value != "" {
			fix = fmt.Sprintf("quote it: %q", n.Value)
		}
		l.report(n.Line, fix, "%s: must be a string, not %s", what, valueKind(v))
	}
	return s, ok
}

// whole reads an integer of at least least.
func (l *loader) whole(n *yaml.Node, what string, least int) (int, bool) {
	v, ok := l.value(n, what)
	if !ok {
		return 0, false
	}
	i, ok := v.(int64)
	if !ok || i < int64(least) || i > math.MaxInt32 {
		l.report(n.Line, "", "%s: must be an integer of at least %d", what, least)
		return 0, false
	}
	return int(i), true
}

// boolean reads true or false.
func (l *loader) boolean(n *yaml.Node, what string) (value, ok bool) {
	v, ok := l.value(n, what)
	if !ok {
		return false, false
	}
	b, ok := v.(bool)
	if !ok {
		l.report(n.Line, "", "%s: must be true or false", what)
	}
	return b, ok
}

// value reads a scalar: string, int64, float64, bool or nil, by the core schema of
// YAML 1.2. Quoted scalars are strings.
func (l *loader) value(n *yaml.Node, what string) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		l.report(n.Line, "", "%s: must be a single value, not %s", what, nodeKind(n))
		return nil, false
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" {
		l.report(n.Line, "remove the tag", "%s: the tag %s is not supported", what, n.Tag)
		return nil, false
	}
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if n.Style&quoted != 0 {
		return n.Value, true
	}
	return coreScalar(n.Value), true
}

var (
	coreInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	coreOctal = regexp.MustCompile(`^0o[0-7]+$`)
	coreHex   = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	coreFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	coreInf   = regexp.MustCompile(`^[-+]?\.(inf|Inf|INF)$`)
	coreNaN   = regexp.MustCompile(`^\.(nan|NaN|NAN)$`)
)

// coreScalar resolves a plain scalar: 010 is ten, 1_000, on, no and dates are strings.
func coreScalar(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	base, digits := 0, s
	switch {
	case coreInt.MatchString(s):
		base = 10
	case coreOctal.MatchString(s):
		base, digits = 8, s[2:]
	case coreHex.MatchString(s):
		base, digits = 16, s[2:]
	}
	if base != 0 {
		if i, err := strconv.ParseInt(digits, base, 64); err == nil {
			return i
		}
		if base != 10 {
			return math.Inf(1)
		}
	}
	switch {
	case coreFloat.MatchString(s):
		f, _ := strconv.ParseFloat(s, 64)
		return f
	case coreInf.MatchString(s):
		if s[0] == '-' {
			return math.Inf(-1)
		}
		return math.Inf(1)
	case coreNaN.MatchString(s):
		return math.NaN()
	}
	return s
}

func nodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if coreScalar(n.Value) == nil && n.Style == 0 {
		return "empty"
	}
	return "a single value"
}

func valueKind(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	}
	return "a number"
}
