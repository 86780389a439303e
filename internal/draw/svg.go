package draw

import (
	"fmt"
	"io"
	"strings"

	"github.com/slate-agents/slate/wire"
)

// Sizes of the loop from a node to itself.
const (
	loopWidth  = 24
	loopHeight = 22
)

// SVG draws a graph from top to bottom. Edges that lead back run beside the nodes.
// Where edges have counts the graph shows a run: those taken stand out, the others
// are dashed.
func SVG(w io.Writer, g wire.Graph) error {
	l := arrange(read(g))
	c := &canvas{}
	c.open(l.w, l.h, clean(g.Title), nil, nil)
	for i, s := range l.title {
		c.text(l.w/2, margin+i*titleFont.line()+baseline(titleFont), "", titleFont, "middle", s)
	}
	// Lines first, those taken above the others, then what stands on them.
	for _, taken := range []bool{false, true} {
		for _, a := range l.arrows {
			if a.taken == taken {
				l.line(c, a)
			}
		}
	}
	for _, a := range l.arrows {
		if x, y, ok := l.pill(a); ok {
			c.printf(`<rect class="pill" x="%d" y="%d" width="%d" height="%d" rx="9"/>`, x-a.w/2, y-a.h/2, a.w, a.h)
			c.rows(a.rows, x, y-a.h/2+4)
		}
	}
	for _, b := range l.boxes {
		b.draw(c)
	}
	return c.finish(w)
}

// pill is the middle of an edge's label.
func (l *layout) pill(a *arrow) (x, y int, ok bool) {
	switch {
	case a.w == 0:
		return 0, 0, false
	case a.from == a.to:
		b := a.from
		return b.item.x + b.w/2 + loopWidth + 4 + a.w/2, b.top + b.h/2 + a.at, true
	case a.label != nil:
		return a.label.x, l.middle(a.label.rank), true
	}
	for _, n := range l.lanes {
		if n.arrow == a {
			return n.x, l.middle(n.label), true
		}
	}
	return 0, 0, false
}

// middle is the y of the middle of a rank.
func (l *layout) middle(rank int) int { return (l.top[rank] + l.bottom[rank]) / 2 }

// line draws the line of an edge and its head.
func (l *layout) line(c *canvas, a *arrow) {
	class := ""
	switch {
	case a.taken:
		class = " taken"
	case a.faint:
		class = " faint"
	}
	var path string
	var tip [2]int
	dx, dy := 0, 0 // the direction of the head
	switch {
	case a.from == a.to:
		b := a.from
		x, y := b.item.x+b.w/2, b.top+b.h/2+a.at
		path = fmt.Sprintf("M%d %dh%dq8 0 8 8v%dq0 8 -8 8h-%d", x, y-9, loopWidth-10, 2, loopWidth-10-6)
		tip, dx = [2]int{x, y + 9}, -1
	case a.path != nil:
		path, tip = l.downward(a)
		dy = 1
	default:
		for _, n := range l.lanes {
			if n.arrow == a {
				path, tip, dx, dy = l.backward(n)
			}
		}
	}
	c.printf(`<path class="line%s" d="%s"/>`, class, path)
	c.printf(`<path class="tip%s" d="M%d %dL%d %dL%d %dz"/>`, class, tip[0], tip[1],
		tip[0]-9*dx+4*dy, tip[1]-9*dy+4*dx, tip[0]-9*dx-4*dy, tip[1]-9*dy-4*dx)
}

// downward is the path of an edge to a later layer: straight through each rank, bent
// between ranks.
func (l *layout) downward(a *arrow) (string, [2]int) {
	var p strings.Builder
	last := len(a.path) - 1
	x, rank := 0, a.path[0].rank
	for i := 1; i <= last; i++ {
		k := a.link(i)
		if i == 1 {
			x = k.above.x + k.out
			fmt.Fprintf(&p, "M%d %d", x, a.from.top+a.from.h)
		}
		if l.top[k.to.rank] == l.bottom[k.to.rank] {
			// A rank of no height holds nothing to keep clear of.
			continue
		}
		y0, y1, to := l.bottom[rank], l.top[k.to.rank], k.to.x+k.in
		fmt.Fprintf(&p, "V%d", y0)
		if x != to {
			mid := (y0 + y1) / 2
			fmt.Fprintf(&p, "C%d %d %d %d %d %d", x, mid, to, mid, to, y1)
		}
		x, rank = to, k.to.rank
	}
	fmt.Fprintf(&p, "V%d", a.to.top-6)
	return p.String(), [2]int{x, a.to.top}
}

// link is the one that leads to an item of the edge's path.
func (a *arrow) link(i int) *link {
	for _, k := range a.path[i].up {
		if k.edge == a.edge {
			return k
		}
	}
	return nil
}

// backward is the path of an edge that leads back, along its lane.
func (l *layout) backward(n *lane) (path string, tip [2]int, dx, dy int) {
	from, to := n.arrow.from, n.arrow.to
	out := 1
	if !n.right {
		out = -1
	}
	var p strings.Builder
	const r = 8 // of the rounded corners
	if n.leave.side {
		x, y := from.item.x+out*from.w/2, from.top+n.leave.at
		fmt.Fprintf(&p, "M%d %dH%dQ%d %d %d %d", x, y, n.x-out*r, n.x, y, n.x, y-r)
	} else {
		x, y := from.item.x+out*n.leave.at, l.bottom[from.item.rank]+n.leave.deep
		s := min(r, n.leave.deep)
		fmt.Fprintf(&p, "M%d %dV%dQ%d %d %d %dH%dQ%d %d %d %d", x, from.top+from.h, y-s, x, y, x+out*s, y,
			n.x-out*s, n.x, y, n.x, y-s)
	}
	if n.enter.side {
		x, y := to.item.x+out*to.w/2, to.top+n.enter.at
		fmt.Fprintf(&p, "V%dQ%d %d %d %dH%d", y+r, n.x, y, n.x-out*r, y, x+out*6)
		return p.String(), [2]int{x, y}, -out, 0
	}
	x, y := to.item.x+out*n.enter.at, l.top[to.item.rank]-n.enter.deep
	fmt.Fprintf(&p, "V%dQ%d %d %d %dH%dQ%d %d %d %dV%d", y+r, n.x, y, n.x-out*r, y,
		x+out*r, x, y, x, y+r, to.top-6)
	return p.String(), [2]int{x, to.top}, 0, 1
}

// draw draws a node: its role shows in the frame as well as in the colour.
func (b *box) draw(c *canvas) {
	class, round := "box", 6
	switch b.Role {
	case "start", "end", "current", "refused":
		class += " " + b.Role
	}
	if b.Role == "start" || b.Role == "end" {
		round = min(17, b.h/2)
	}
	x := b.item.x - b.w/2
	c.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, class, x, b.top, b.w, b.h, round)
	if b.Role == "end" {
		c.printf(`<rect class="in" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x+3, b.top+3, b.w-6, b.h-6, round-3)
	}
	if b.Role == "start" {
		c.printf(`<circle class="dot" cx="%d" cy="%d" r="4.5"/>`, b.item.x, b.top)
	}
	_, h := measure(b.rows)
	if len(b.rows) > b.heads {
		h += 8
	}
	y := c.rows(b.rows[:b.heads], b.item.x, b.top+(b.h-h)/2)
	if len(b.rows) > b.heads {
		c.printf(`<path class="rule" d="M%d %dH%d"/>`, x+10, y+4, x+b.w-10)
		c.rows(b.rows[b.heads:], b.item.x, y+8)
	}
}
