package draw

import "github.com/slate-agents/slate/wire"

// The layout has two kinds of rank, in turn: those of nodes and, between them, those
// of edge labels. An edge passes every rank on its way as an item that takes room
// there, so no line can run through a box or a label: inside a rank it runs straight
// down through its own room, and between ranks there is nothing to hit.

// Sizes in pixels.
const (
	margin    = 20
	itemGap   = 22 // between two items of a rank
	lineGap   = 14 // between two lines that pass a rank
	rankGap   = 22 // between two ranks
	nodeRoom  = 230
	labelRoom = 200
	pillPad   = 7
	boxPad    = 13
	fullLayer = 10 // nodes in one layer at most
	wideRank  = 1100
)

var (
	titleFont = font{16, true}
	nodeFont  = font{14, true}
	lineFont  = font{11, false}
	edgeFont  = font{12, false}
	countFont = font{12, true}
)

// row is a line of text in a box or a pill.
type row struct {
	text  string
	class string
	font  font
}

// box is a node as drawn.
type box struct {
	wire.Node
	rows []row
	// heads is how many of the rows are the label.
	heads int
	w, h  int
	loops []*arrow
	item  *item
	// top is the y of the upper side, once placed.
	top int
}

// arrow is an edge as drawn.
type arrow struct {
	edge     int
	from, to *box
	taken    bool
	faint    bool
	rows     []row
	// w and h are the size of the label, 0 where there is none.
	w, h int
	// path holds the items the edge passes, its two nodes first and last.
	path []*item
	// label is the item that holds the label, if it has one.
	label *item
	// at is the height of a loop above the middle of its box.
	at int
}

// item is what takes room in a rank: a node, a label or a line that passes.
type item struct {
	box   *box
	arrow *arrow
	rank  int
	// place is the index in the rank.
	place int
	// left and right are the room needed on both sides of x; h the height.
	left, right, h int
	x              int
	up, down       []*link
}

// link joins two items of neighbouring ranks. The offsets are where the line meets
// a node, measured from its middle.
type link struct {
	edge       int
	above, to  *item
	out, in    int
	importance int
}

// layout is a placed graph.
type layout struct {
	boxes  []*box
	arrows []*arrow
	ranks  [][]*item
	lanes  []*lane
	// top and bottom are the y where each rank begins and ends.
	top, bottom []int
	title       []string
	w, h        int
}

// arrange places a picture.
func arrange(p *picture) *layout {
	l := &layout{title: titleFont.wrap(p.title, 700, 2)}
	layer, back := p.layers(fullLayer)
	depth := 0
	for _, n := range layer {
		depth = max(depth, n+1)
	}
	l.ranks = make([][]*item, max(0, 2*depth-1))
	degree := make([][2]int, len(p.nodes))
	for e := range p.edges {
		if !back[e] {
			degree[p.from[e]][0]++
			degree[p.to[e]][1]++
		}
	}
	for i, n := range p.nodes {
		b := newBox(n)
		b.w = max(b.w, 24+10*max(degree[i][0], degree[i][1]))
		l.boxes = append(l.boxes, b)
	}
	for e := range p.edges {
		a := newArrow(p, e)
		a.from, a.to = l.boxes[p.from[e]], l.boxes[p.to[e]]
		l.arrows = append(l.arrows, a)
		if a.from == a.to {
			a.from.loops = append(a.from.loops, a)
		}
	}
	for i, b := range l.boxes {
		l.add(&item{box: b, rank: 2 * layer[i], left: b.w / 2, right: b.w/2 + b.fitLoops(), h: b.h})
	}
	taken := make([]int, len(l.ranks))
	for e, a := range l.arrows {
		switch {
		case a.from == a.to:
		case back[e]:
			l.lanes = append(l.lanes, &lane{arrow: a})
		default:
			l.thread(a, taken)
		}
	}
	l.order()
	l.place()
	l.straighten()
	l.sideLanes()
	l.stack()
	return l
}

// add puts an item at the end of its rank.
func (l *layout) add(it *item) *item {
	it.place = len(l.ranks[it.rank])
	l.ranks[it.rank] = append(l.ranks[it.rank], it)
	if it.box != nil {
		it.box.item = it
	}
	return it
}

// thread leads an edge through the ranks between its nodes. Its label stands right
// below the node it leaves, unless that rank is wide already and another is not.
func (l *layout) thread(a *arrow, taken []int) {
	from, to := a.from.item, a.to.item
	at := from.rank + 1
	if taken[at]+a.w > wideRank {
		for r := at; r < to.rank; r += 2 {
			if taken[r] < taken[at] {
				at = r
			}
		}
	}
	a.path = append(a.path, from)
	for r := from.rank + 1; r < to.rank; r++ {
		it := &item{arrow: a, rank: r, left: 2, right: 2}
		if r == at && a.w > 0 {
			it.left, it.right, it.h = a.w/2, a.w/2, a.h
			a.label = it
			taken[r] += a.w + itemGap
		}
		a.path = append(a.path, l.add(it))
	}
	a.path = append(a.path, to)
	for i := 1; i < len(a.path); i++ {
		above, below := a.path[i-1], a.path[i]
		k := &link{edge: a.edge, above: above, to: below, importance: 2}
		if above.box == nil && below.box == nil {
			k.importance = 8
		}
		above.down = append(above.down, k)
		below.up = append(below.up, k)
	}
}

// newBox measures a node.
func newBox(n wire.Node) *box {
	b := &box{Node: n}
	for _, s := range nodeFont.wrap(n.Label, nodeRoom, 5) {
		b.rows = append(b.rows, row{s, "t", nodeFont})
	}
	b.heads = len(b.rows)
	for i, line := range n.Lines {
		if i == 11 && len(n.Lines) > 12 {
			b.rows = append(b.rows, row{"…", "m", lineFont})
			break
		}
		for _, s := range lineFont.wrap(line, nodeRoom, 3) {
			b.rows = append(b.rows, row{s, "m", lineFont})
		}
	}
	w, h := measure(b.rows)
	b.w, b.h = max(64, w+2*boxPad), max(34, h+18)
	if len(b.rows) > b.heads {
		b.h += 8
	}
	b.w += b.w % 2
	return b
}

// newArrow measures an edge's label.
func newArrow(p *picture, e int) *arrow {
	edge := p.edges[e]
	a := &arrow{edge: e, taken: edge.Count > 0, faint: p.counted && edge.Count <= 0}
	if edge.Count > 0 {
		a.rows = append(a.rows, row{times(edge.Count), "c", countFont})
	}
	for _, s := range edgeFont.wrap(edge.Label, labelRoom, 5) {
		a.rows = append(a.rows, row{s, "e", edgeFont})
	}
	for i, line := range edge.Lines {
		if i == 7 && len(edge.Lines) > 8 {
			a.rows = append(a.rows, row{"…", "m", lineFont})
			break
		}
		for _, s := range lineFont.wrap(line, labelRoom, 2) {
			a.rows = append(a.rows, row{s, "m", lineFont})
		}
	}
	if len(a.rows) > 0 {
		w, h := measure(a.rows)
		a.w, a.h = w+2*pillPad, h+8
		a.w += a.w % 2
	}
	return a
}

// measure is the size of rows under each other.
func measure(rows []row) (w, h int) {
	for _, r := range rows {
		w = max(w, r.font.width(r.text))
		h += r.font.line()
	}
	return w, h
}

// fitLoops makes the box high enough for the loops at its right side and says how
// much room they need there.
func (b *box) fitLoops() int {
	if len(b.loops) == 0 {
		return 0
	}
	room, high := 0, 0
	for _, a := range b.loops {
		room = max(room, loopWidth)
		if a.w > 0 {
			room = max(room, loopWidth+4+a.w)
		}
		high += max(a.h, loopHeight) + 6
	}
	b.h = max(b.h, high+6)
	at := -high / 2
	for _, a := range b.loops {
		h := max(a.h, loopHeight) + 6
		a.at = at + h/2
		at += h
	}
	return room
}
