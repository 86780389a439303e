package draw

import (
	"strconv"

	"github.com/slate-agents/slate/wire"
)

// picture is a graph that can be drawn: every edge has two nodes, every node a label.
type picture struct {
	title string
	nodes []wire.Node
	edges []wire.Edge
	// from and to are the nodes of each edge.
	from, to []int
	// counted says that the graph shows a run, so that an edge without a count was
	// not taken.
	counted bool
}

// read makes a picture of a graph. Of two nodes with one ID the first is drawn; an
// edge to a node that is not there draws it too, because a picture that hides half
// of an arrow hides the mistake.
func read(g wire.Graph) *picture {
	p := &picture{title: clean(g.Title), edges: g.Edges}
	at := map[string]int{}
	add := func(n wire.Node) int {
		if i, ok := at[n.ID]; ok {
			return i
		}
		if n.Label == "" {
			n.Label = n.ID
		}
		at[n.ID] = len(p.nodes)
		p.nodes = append(p.nodes, n)
		return len(p.nodes) - 1
	}
	for _, n := range g.Nodes {
		add(n)
	}
	for _, e := range g.Edges {
		p.from = append(p.from, add(wire.Node{ID: e.From}))
		p.to = append(p.to, add(wire.Node{ID: e.To}))
		p.counted = p.counted || e.Count > 0
	}
	return p
}

// times is how a count is written.
func times(n int) string { return "×" + strconv.Itoa(n) }

// layers finds the layer of every node, from 0, and which edges lead back. An edge
// that leads back closes a cycle; all others lead to a later layer.
func (p *picture) layers(most int) (layer []int, back []bool) {
	back = p.backEdges()
	into := make([][]int, len(p.nodes))
	outOf := make([][]int, len(p.nodes))
	for e := range p.edges {
		if !back[e] {
			into[p.to[e]] = append(into[p.to[e]], p.from[e])
			outOf[p.from[e]] = append(outOf[p.from[e]], p.to[e])
		}
	}
	// The longest path decides, except that a full layer sends the rest to the next:
	// a state with a hundred successors makes a block, not a line.
	layer = make([]int, len(p.nodes))
	waiting := make([]int, len(p.nodes))
	var next []int
	for n := range p.nodes {
		if waiting[n] = len(into[n]); waiting[n] == 0 {
			next = append(next, n)
		}
	}
	var filled []int
	for len(next) > 0 {
		wave := next
		next = nil
		for _, n := range wave {
			at := 0
			for _, m := range into[n] {
				at = max(at, layer[m]+1)
			}
			for ; ; at++ {
				for len(filled) <= at {
					filled = append(filled, 0)
				}
				if filled[at] < most {
					break
				}
			}
			layer[n] = at
			filled[at]++
			for _, m := range outOf[n] {
				if waiting[m]--; waiting[m] == 0 {
					next = append(next, m)
				}
			}
		}
	}
	// A node that nothing leads to stands just above what it leads to.
	for n := range p.nodes {
		if len(into[n]) > 0 || len(outOf[n]) == 0 || p.nodes[n].Role == "start" {
			continue
		}
		near := layer[outOf[n][0]]
		for _, m := range outOf[n] {
			near = min(near, layer[m])
		}
		if filled[near-1] < most || near-1 == layer[n] {
			filled[layer[n]]--
			layer[n] = near - 1
			filled[near-1]++
		}
	}
	// Moving nodes down may have emptied the first layer.
	empty := 0
	for empty < len(filled) && filled[empty] == 0 {
		empty++
	}
	for n := range layer {
		layer[n] -= empty
	}
	return layer, back
}

// backEdges walks the graph from its start and marks the edges that lead to a node
// on the way there, loops from a node to itself included.
func (p *picture) backEdges() []bool {
	back := make([]bool, len(p.edges))
	out := make([][]int, len(p.nodes))
	reached := make([]bool, len(p.nodes))
	for e := range p.edges {
		out[p.from[e]] = append(out[p.from[e]], e)
		if p.from[e] != p.to[e] {
			reached[p.to[e]] = true
		}
	}
	const open, closed = 1, 2
	seen := make([]int, len(p.nodes))
	var walk func(int)
	walk = func(n int) {
		seen[n] = open
		for _, e := range out[n] {
			switch to := p.to[e]; seen[to] {
			case open:
				back[e] = true
			case closed:
			default:
				walk(to)
			}
		}
		seen[n] = closed
	}
	roots := func(ok func(n int) bool) {
		for n := range p.nodes {
			if seen[n] == 0 && ok(n) {
				walk(n)
			}
		}
	}
	roots(func(n int) bool { return p.nodes[n].Role == "start" })
	roots(func(n int) bool { return !reached[n] })
	roots(func(int) bool { return true })
	return back
}
