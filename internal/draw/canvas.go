package draw

import (
	"fmt"
	"io"
	"strings"
)

// canvas collects the elements of an SVG. Numbers are whole pixels, and every text
// passes through escape.
type canvas struct {
	strings.Builder
}

// palette is the look of both kinds of picture: neutral colours on a background of
// their own, so that a viewer that knows nothing of dark pages still shows a picture
// that can be read. Every rule is bound to the class of the root, because a page may
// hold the picture inline.
var palette = struct{ light, dark []string }{
	light: []string{
		".bg{fill:#fff}",
		"text{fill:#1f2328}",
		".m{fill:#59636e}",
		".line{stroke:#6e7781;fill:none;stroke-width:1.5}",
		".tip{fill:#6e7781}",
		".taken{stroke:#0969da;stroke-width:2}",
		".tip.taken{fill:#0969da;stroke:none}",
		".faint{stroke:#afb8c1;stroke-dasharray:5 4}",
		".tip.faint{fill:#afb8c1;stroke:none}",
		".box{fill:#f6f8fa;stroke:#818b98;stroke-width:1.2}",
		".in{fill:none;stroke:#818b98}",
		".rule{stroke:#d1d9e0}",
		".start{fill:#dafbe1;stroke:#1a7f37}",
		".dot{fill:#1a7f37}",
		".end{fill:#eff2f5;stroke:#59636e}",
		".current{fill:#ddf4ff;stroke:#0969da;stroke-width:3}",
		".refused{fill:#ffebe9;stroke:#cf222e;stroke-width:1.8;stroke-dasharray:6 3}",
		".pill{fill:#fff;stroke:#d1d9e0}",
		".c{fill:#0969da;font-weight:bold}",
	},
	dark: []string{
		".bg{fill:#0d1117}",
		"text{fill:#e6edf3}",
		".m{fill:#9198a1}",
		".line{stroke:#8b949e}",
		".tip{fill:#8b949e}",
		".taken{stroke:#4493f8}",
		".tip.taken{fill:#4493f8}",
		".faint{stroke:#484f58}",
		".tip.faint{fill:#484f58}",
		".box{fill:#1c2129;stroke:#656c76}",
		".in{stroke:#656c76}",
		".rule{stroke:#3d444d}",
		".start{fill:#12301d;stroke:#3fb950}",
		".dot{fill:#3fb950}",
		".end{fill:#262c36;stroke:#9198a1}",
		".current{fill:#11264a;stroke:#4493f8}",
		".refused{fill:#3a1619;stroke:#f85149}",
		".pill{fill:#0d1117;stroke:#3d444d}",
		".c{fill:#4493f8}",
	},
}

// open begins a picture with a name for those who cannot see it.
func (c *canvas) open(w, h int, name string, light, dark []string) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" class="slate" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", w, h, w, h)
	if name != "" {
		fmt.Fprintf(c, "<title>%s</title>\n", escape(name))
	}
	c.WriteString("<style>\n.slate text{font-family:Helvetica,Arial,\"Liberation Sans\",sans-serif;font-size:12px}\n")
	for _, rules := range [][]string{palette.light, light} {
		for _, r := range rules {
			c.WriteString(".slate " + r + "\n")
		}
	}
	c.WriteString("@media (prefers-color-scheme:dark){\n")
	for _, rules := range [][]string{palette.dark, dark} {
		for _, r := range rules {
			c.WriteString(".slate " + r + "\n")
		}
	}
	c.WriteString("}\n</style>\n")
	fmt.Fprintf(c, `<rect class="bg" width="%d" height="%d" rx="6"/>`+"\n", w, h)
}

// finish ends the picture and writes it.
func (c *canvas) finish(w io.Writer) error {
	c.WriteString("</svg>\n")
	_, err := io.WriteString(w, c.String())
	return err
}

// printf adds an element from numbers and classes; never from a caller's text.
func (c *canvas) printf(format string, args ...any) {
	fmt.Fprintf(c, format+"\n", args...)
}

// text adds one line of text with its baseline at y. An anchor of "" is the start.
func (c *canvas) text(x, y int, class string, f font, anchor, s string) {
	c.WriteString(fmt.Sprintf(`<text x="%d" y="%d"`, x, y))
	if class != "" {
		c.WriteString(` class="` + class + `"`)
	}
	if anchor != "" {
		c.WriteString(` text-anchor="` + anchor + `"`)
	}
	style := ""
	if f.size != 12 {
		style = fmt.Sprintf("font-size:%dpx", f.size)
	}
	if f.bold {
		style = strings.TrimPrefix(style+";font-weight:bold", ";")
	}
	if style != "" {
		c.WriteString(` style="` + style + `"`)
	}
	c.WriteString(">" + escape(s) + "</text>\n")
}

// rows adds lines of text under each other, centred on x, the first beginning at y,
// and returns where they end.
func (c *canvas) rows(rows []row, x, y int) int {
	for _, r := range rows {
		c.text(x, y+baseline(r.font), r.class, r.font, "middle", r.text)
		y += r.font.line()
	}
	return y
}

// baseline is how far below the upper edge of a line its letters stand.
func baseline(f font) int { return f.size + (f.line()-f.size)/2 - f.size/6 }
