package draw

import (
	"fmt"
	"io"
	"strings"

	"github.com/slate-agents/slate/wire"
)

// DOT writes a graph for Graphviz.
func DOT(w io.Writer, g wire.Graph) error {
	p := read(g)
	var b strings.Builder
	b.WriteString("digraph {\n")
	if p.title != "" {
		fmt.Fprintf(&b, "    graph [label=\"%s\", labelloc=t]\n", dotEscape(p.title))
	}
	b.WriteString("    node [shape=box, style=rounded, fontname=\"Helvetica,Arial,sans-serif\"]\n")
	b.WriteString("    edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11]\n")
	for i, n := range p.nodes {
		look := ""
		switch n.Role {
		case "start":
			look = `, style="rounded,filled", fillcolor="#dafbe1", color="#1a7f37", fontcolor="#1f2328"`
		case "end":
			look = `, peripheries=2`
		case "current":
			look = `, style="rounded,filled", penwidth=3, fillcolor="#ddf4ff", color="#0969da", fontcolor="#1f2328"`
		case "refused":
			look = `, style="rounded,filled,dashed", fillcolor="#ffebe9", color="#cf222e", fontcolor="#1f2328"`
		}
		fmt.Fprintf(&b, "    n%d [label=\"%s\"%s]\n", i, dotText(n.Label, n.Lines), look)
	}
	for e, edge := range p.edges {
		var looks []string
		lines := edge.Lines
		switch {
		case edge.Count > 0:
			lines = append(append([]string{}, lines...), times(edge.Count))
			looks = append(looks, "penwidth=2")
		case p.counted:
			looks = append(looks, "style=dashed")
		}
		if text := dotText(edge.Label, lines); text != "" {
			looks = append([]string{`label="` + text + `"`}, looks...)
		}
		fmt.Fprintf(&b, "    n%d -> n%d", p.from[e], p.to[e])
		if len(looks) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(looks, ", "))
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotText joins a label and its lines.
func dotText(label string, lines []string) string {
	var parts []string
	for _, s := range append([]string{label}, lines...) {
		if s = dotEscape(clean(s)); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, `\n`)
}

// dotEscape makes cleaned text safe in a quoted DOT string. Graphviz reads HTML
// entities in it, and a backslash with a letter as a name for something else.
func dotEscape(s string) string { return dotEscaper.Replace(s) }

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
