package draw

import (
	"fmt"
	"strings"
)

// draw draws a mark: its sign on the line of its lane, and its text beside it.
func (t *tale) draw(c *canvas, p *placed) {
	if p.clock != "" {
		y := p.y + baseline(storyFont)
		if p.Kind == Band {
			y = p.y + 16
		}
		c.text(t.lanes[0].x-8, y, "m", clockFont, "end", p.clock)
	}
	if p.Kind == Band {
		return
	}
	x, y := p.track.x+11, p.y+7
	colour := "ink"
	for i, lane := range t.lanes[1:] {
		if lane == p.track {
			colour = fmt.Sprintf("a%d", i%6)
		}
	}
	class := ""
	switch p.Kind {
	case Begin:
		c.printf(`<path class="%s" d="M%d %dh10v3l-5 5l-5 -5z"/>`, colour, x-5, y-5)
		class = "m"
	case Finish:
		c.printf(`<circle class="good" cx="%d" cy="%d" r="6"/><path class="on" d="M%d %dl2 2l4 -4"/>`, x, y, x-3, y)
		class = "m"
	case Fail:
		c.printf(`<circle class="bad" cx="%d" cy="%d" r="6"/><path class="on" d="M%d %dl5 5m0 -5l-5 5"/>`, x, y, x-2, y-2)
		class = "bad"
	case Refusal:
		c.printf(`<circle class="bad" cx="%d" cy="%d" r="6"/><path class="on" d="M%d %dh6"/>`, x, y, x-3, y)
		class = "bad"
	case Clear:
		c.printf(`<path class="open" d="M%d %dl5 5l-5 5l-5 -5z"/>`, x, y-5)
		class = "m"
	case Fire:
		c.printf(`<circle class="ink" cx="%d" cy="%d" r="5"/>`, x, y)
	case End:
		c.printf(`<circle class="open" cx="%d" cy="%d" r="6"/><circle class="ink" cx="%d" cy="%d" r="3"/>`, x, y, x, y)
	case Write:
		c.printf(`<circle class="%s" cx="%d" cy="%d" r="4"/>`, colour, x, y)
	default:
		c.printf(`<circle class="%s" cx="%d" cy="%d" r="2"/>`, colour, x, y)
		class = "m"
	}
	left, at := p.track.x+textFrom, p.y
	label := strings.TrimSuffix(p.head(), " ")
	for i, line := range p.lines {
		bold := ""
		if i == 0 {
			if rest, ok := strings.CutPrefix(line, label); ok {
				bold, line = label, rest
			} else if strings.HasPrefix(label, strings.TrimSuffix(line, "…")) {
				bold, line = line, ""
			}
		}
		c.labelled(left, at+baseline(storyFont), class, bold, line)
		at += storyFont.line()
	}
	if len(p.lines) == 0 {
		at += 14
	}
	for i, lines := range p.guards {
		if p.Guards[i].Held {
			c.printf(`<path class="yes" d="M%d %dl3 3l5 -6"/>`, left, at+7)
		} else {
			c.printf(`<path class="no" d="M%d %dl6 6m0 -6l-6 6"/>`, left+1, at+4)
		}
		for _, line := range lines {
			class := "m"
			if p.Guards[i].Held {
				class = ""
			}
			c.text(left+14, at+baseline(storyFont), class, storyFont, "", line)
			at += storyFont.line()
		}
		if len(lines) == 0 {
			at += storyFont.line()
		}
	}
}

// head is the part of a mark's words that is bold.
func (p *placed) head() string {
	label := clean(p.Label)
	switch {
	case label == "":
		return ""
	case p.Kind == Fire:
		return "→ " + label
	case clean(p.Text) == "":
		return label
	}
	return label + ":"
}

// labelled adds a line of a mark's text, its first part bold.
func (c *canvas) labelled(x, y int, class, bold, rest string) {
	if bold == "" {
		c.text(x, y, class, storyFont, "", rest)
		return
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	c.WriteString(fmt.Sprintf(`<text x="%d" y="%d"%s style="font-size:%dpx"><tspan style="font-weight:bold">`, x, y, class, storyFont.size))
	c.WriteString(escape(bold) + "</tspan>" + escape(rest) + "</text>\n")
}
