package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/slate-agents/slate/wire"
)

// random is a graph with so many nodes and edges, in all shapes.
func random(seed uint64, nodes, edges int) wire.Graph {
	r := rand.New(rand.NewPCG(seed, 7))
	word := func() string {
		s := ""
		for range r.IntN(5) {
			s += []string{"count ", "region", " == ", "'solved'", "averylongword_", "x", "über"}[r.IntN(7)]
		}
		return s
	}
	g := wire.Graph{Title: word()}
	for i := range nodes {
		n := wire.Node{ID: fmt.Sprint("state", i), Label: fmt.Sprint("state ", i, " ", word())}
		for range r.IntN(4) {
			n.Lines = append(n.Lines, word())
		}
		if i == 0 {
			n.Role = "start"
		}
		g.Nodes = append(g.Nodes, n)
	}
	for range edges {
		from := r.IntN(nodes)
		to := r.IntN(nodes)
		if r.IntN(3) > 0 {
			to = min(nodes-1, from+1+r.IntN(3))
		}
		e := wire.Edge{From: fmt.Sprint("state", from), To: fmt.Sprint("state", to)}
		if r.IntN(2) == 0 {
			e.Label = word()
		}
		if r.IntN(4) == 0 {
			e.Lines = append(e.Lines, word())
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

// area is a rectangle in the picture.
type area struct {
	what       string
	x, y, w, h int
}

func (a area) meets(b area) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// areas are the boxes and the labels of a layout.
func (l *layout) areas() (boxes, labels []area) {
	for _, b := range l.boxes {
		boxes = append(boxes, area{"box " + b.Label, b.item.x - b.w/2, b.top, b.w, b.h})
	}
	for _, a := range l.arrows {
		if x, y, ok := l.pill(a); ok {
			labels = append(labels, area{fmt.Sprint("label of edge ", a.edge), x - a.w/2, y - a.h/2, a.w, a.h})
		}
	}
	return boxes, labels
}

func TestNothingOverlaps(t *testing.T) {
	for seed := range uint64(150) {
		nodes := 1 + int(seed)%40
		if seed%50 == 49 {
			nodes = 200
		}
		l := arrange(read(random(seed, nodes, nodes*3/2)))
		boxes, labels := l.areas()
		all := append(boxes, labels...)
		for i, a := range all {
			if a.x < 0 || a.y < 0 || a.x+a.w > l.w || a.y+a.h > l.h {
				t.Fatalf("seed %d: %s stands outside the picture", seed, a.what)
			}
			for _, b := range all[:i] {
				if a.meets(b) {
					t.Fatalf("seed %d: %s overlaps %s: %+v %+v", seed, a.what, b.what, a, b)
				}
			}
		}
	}
}

func TestLinesKeepClearOfBoxesAndLabels(t *testing.T) {
	for seed := range uint64(80) {
		nodes := 1 + int(seed)%40
		l := arrange(read(random(seed, nodes, nodes*3/2)))
		boxes, labels := l.areas()
		for _, a := range l.arrows {
			own := fmt.Sprint("label of edge ", a.edge)
			for _, p := range trace(t, l.path(a)) {
				for i, b := range boxes {
					if box := l.boxes[i]; box == a.from || box == a.to {
						// A line may touch its own boxes, not run through them.
						b.x, b.y, b.w, b.h = b.x+8, b.y+8, b.w-16, b.h-16
					}
					if p[0] > b.x && p[0] < b.x+b.w && p[1] > b.y && p[1] < b.y+b.h {
						t.Fatalf("seed %d: edge %d runs through %s at %v", seed, a.edge, b.what, p)
					}
				}
				for _, b := range labels {
					if b.what != own &&
						p[0] > b.x && p[0] < b.x+b.w && p[1] > b.y && p[1] < b.y+b.h {
						t.Fatalf("seed %d: edge %d runs through the %s at %v", seed, a.edge, b.what, p)
					}
				}
			}
		}
	}
}

// path is the line of an edge.
func (l *layout) path(a *arrow) string {
	c := &canvas{}
	l.line(c, a)
	var e struct {
		D string `xml:"d,attr"`
	}
	if xml.Unmarshal(c.Bytes(), &e) != nil {
		return ""
	}
	return e.D
}

// Bytes is what was drawn.
func (c *canvas) Bytes() []byte { return []byte(c.String()) }

// trace walks along a path and returns points on it, close to each other.
func trace(t *testing.T, d string) [][2]int {
	t.Helper()
	var points [][2]int
	x, y := 0, 0
	r := bytes.NewReader([]byte(d))
	number := func() int {
		n := 0
		for {
			b, err := r.ReadByte()
			if err != nil {
				t.Fatalf("path %q ends early", d)
			}
			if b != ' ' && b != ',' {
				r.UnreadByte()
				break
			}
		}
		if _, err := fmt.Fscanf(r, "%d", &n); err != nil {
			t.Fatalf("path %q: %v", d, err)
		}
		return n
	}
	bend := func(p ...[2]int) {
		p = append([][2]int{{x, y}}, p...)
		const steps = 16
		for i := range steps + 1 {
			q := append([][2]int{}, p...)
			for n := len(q) - 1; n > 0; n-- {
				for j := range n {
					q[j][0] = q[j][0] + (q[j+1][0]-q[j][0])*i/steps
					q[j][1] = q[j][1] + (q[j+1][1]-q[j][1])*i/steps
				}
			}
			points = append(points, q[0])
		}
		x, y = p[len(p)-1][0], p[len(p)-1][1]
	}
	for {
		b, err := r.ReadByte()
		if err == io.EOF {
			return points
		}
		switch b {
		case 'M':
			x, y = number(), number()
		case 'H':
			bend([2]int{number(), y})
		case 'V':
			bend([2]int{x, number()})
		case 'h':
			bend([2]int{x + number(), y})
		case 'v':
			bend([2]int{x, y + number()})
		case 'Q':
			a := [2]int{number(), number()}
			bend(a, [2]int{number(), number()})
		case 'q':
			a := [2]int{x + number(), y + number()}
			bend(a, [2]int{x + number(), y + number()})
		case 'C':
			a, c := [2]int{number(), number()}, [2]int{number(), number()}
			bend(a, c, [2]int{number(), number()})
		default:
			t.Fatalf("path %q: unknown command %q", d, b)
		}
	}
}

func TestLayersLeadDown(t *testing.T) {
	for seed := range uint64(60) {
		p := read(random(seed, 30, 60))
		layer, back := p.layers(4)
		for e := range p.edges {
			if down := layer[p.from[e]] < layer[p.to[e]]; down == back[e] {
				t.Fatalf("seed %d: edge %d leads from layer %d to %d, back: %v", seed, e, layer[p.from[e]], layer[p.to[e]], back[e])
			}
		}
	}
}

func TestSameBytes(t *testing.T) {
	for seed := range uint64(20) {
		g := random(seed, 40, 80)
		var first, second bytes.Buffer
		if SVG(&first, g) != nil || SVG(&second, g) != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("seed %d: one graph gave two pictures", seed)
		}
	}
}

func TestSizes(t *testing.T) {
	star := wire.Graph{}
	for i := range 199 {
		star.Edges = append(star.Edges, wire.Edge{From: "hub", To: fmt.Sprint("leaf", i), Label: "chosen == " + fmt.Sprint(i)})
	}
	chain := wire.Graph{}
	for i := range 199 {
		chain.Edges = append(chain.Edges, wire.Edge{From: fmt.Sprint(i), To: fmt.Sprint(i + 1)},
			wire.Edge{From: fmt.Sprint(i + 1), To: fmt.Sprint(i * i % 7)})
	}
	for name, g := range map[string]wire.Graph{
		"nothing": {}, "title": {Title: "only a title"}, "one": {Nodes: []wire.Node{{}}},
		"star": star, "chain": chain, "random": random(1, 200, 300),
	} {
		var b bytes.Buffer
		if err := SVG(&b, g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wellFormed(t, b.Bytes())
		if dir := os.Getenv("DRAW_KEEP"); dir != "" {
			os.WriteFile(dir+"/"+name+".svg", b.Bytes(), 0o644)
		}
	}
}

// wellFormed fails a test over bytes that are no XML.
func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}
