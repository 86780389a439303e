package draw

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/slate-agents/slate/wire"
)

// Mermaid writes a graph as a Mermaid flowchart. Nodes get names of their own, so an
// ID may be any text, a word of the language too.
func Mermaid(w io.Writer, g wire.Graph) error {
	p := read(g)
	var b strings.Builder
	if p.title != "" {
		// A quoted JSON string is one in YAML too.
		title, err := json.Marshal(mermaidTitle.Replace(p.title))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "---\ntitle: %s\n---\n", title)
	}
	b.WriteString("flowchart TD\n")
	roles := map[string][]string{}
	for i, n := range p.nodes {
		left, right := "[", "]"
		switch n.Role {
		case "start":
			left, right = "([", "])"
		case "end":
			left, right = "[[", "]]"
		}
		text := mermaidText(n.Label, n.Lines)
		if text == "" {
			text = " " // Mermaid refuses a box without text
		}
		fmt.Fprintf(&b, "    n%d%s\"%s\"%s\n", i, left, text, right)
		roles[n.Role] = append(roles[n.Role], fmt.Sprintf("n%d", i))
	}
	for e, edge := range p.edges {
		line := "-->"
		switch {
		case edge.Count > 0:
			line = "==>"
		case p.counted:
			line = "-.->"
		}
		lines := edge.Lines
		if edge.Count > 0 {
			lines = append(append([]string{}, lines...), times(edge.Count))
		}
		if text := mermaidText(edge.Label, lines); text != "" {
			line += "|\"" + text + "\"|"
		}
		fmt.Fprintf(&b, "    n%d %s n%d\n", p.from[e], line, p.to[e])
	}
	for _, role := range []struct{ name, style string }{
		{"start", "fill:#dafbe1,stroke:#1a7f37,color:#1f2328"},
		{"end", "fill:#eff2f5,stroke:#59636e,color:#1f2328"},
		{"current", "fill:#ddf4ff,stroke:#0969da,stroke-width:3px,color:#1f2328"},
		{"refused", "fill:#ffebe9,stroke:#cf222e,stroke-dasharray:6 3,color:#1f2328"},
	} {
		if names := roles[role.name]; len(names) > 0 {
			fmt.Fprintf(&b, "    classDef %sNode %s\n    class %s %sNode\n", role.name, role.style, strings.Join(names, ","), role.name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidTitle replaces what a title has no way to say: Mermaid takes tags out of it as
// if it were HTML and then shows it as plain text, so that an escape would be seen.
var mermaidTitle = strings.NewReplacer("&", "+", "<", "‹", ">", "›")

// mermaidText joins a label and its lines with breaks. Texts without content leave
// no line; a label of nothing at all is empty.
func mermaidText(label string, lines []string) string {
	var parts []string
	for _, s := range append([]string{label}, lines...) {
		if s = mermaidEscape(clean(s)); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "<br/>")
}

// mermaidEscape writes every character that Mermaid, the Markdown in its labels or
// the HTML behind them could read as more than itself by its number. Letters, digits
// and spaces stay, and so do the signs that guards are full of, where they are safe.
//
// Three things are read only after numbers have become characters: icons (fa:fa-name),
// formulas between double dollars, and the signs by which Mermaid marks escapes of its
// own. A word joiner, which nobody sees, keeps those apart.
func mermaidEscape(s string) string {
	const ligature = '\uFB02'
	var b strings.Builder
	var before rune
	for _, r := range s {
		if before == ':' && r == 'f' || before == '$' && r == '$' || before == ligature || before == '¶' {
			b.WriteString("#8288;")
		}
		switch {
		case r == ligature:
			fmt.Fprintf(&b, "#%d;", r)
		case r == ' ', unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
			b.WriteRune(r)
		case strings.ContainsRune("'=,?!/", r) && before != 0,
			// Not behind a digit, where it makes a list, nor behind a w, where it
			// makes a link.
			r == '.' && unicode.IsLetter(before) && before != 'w' && before != 'W':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
		before = r
	}
	return b.String()
}
