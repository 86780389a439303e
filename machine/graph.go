package machine

import (
	"strings"

	"github.com/slate-agents/slate/wire"
)

// Graph is the machine as nodes and edges: states with what they gather, and
// transitions with their guards.
func (d *Definition) Graph() wire.Graph {
	g := wire.Graph{Title: d.Name, Nodes: []wire.Node{}, Edges: []wire.Edge{}}
	for i := range d.States {
		s := &d.States[i]
		n := wire.Node{ID: s.Name, Label: s.Name}
		switch {
		case s.Name == d.Initial:
			n.Role = "start"
		case s.Terminal:
			n.Role = "end"
		}
		for j := range s.Requires {
			q := &s.Requires[j]
			from := q.Source
			if from == "" {
				from = "agent"
			}
			text := q.Field + " from " + from
			if !q.Required {
				text += " (optional)"
			}
			n.Lines = append(n.Lines, text)
		}
		g.Nodes = append(g.Nodes, n)
		for j := range s.Transitions {
			t := &s.Transitions[j]
			var guards []string
			for _, guard := range t.Guards {
				guards = append(guards, guard.Expression)
			}
			e := wire.Edge{From: s.Name, To: t.To, Label: strings.Join(guards, " && ")}
			for _, a := range t.Actions {
				e.Lines = append(e.Lines, a.String())
			}
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}

// String is the action on one line.
func (a Action) String() string {
	switch {
	case a.Kind == Remove:
		return "remove " + a.Field + "[" + a.Key + "]"
	case a.Value == nil:
		return "clear " + a.Field
	}
	return a.Field + " = " + string(a.Value)
}

// Graph is the definition's graph with the current state marked and how often each
// transition was taken.
func (r *Run) Graph() wire.Graph {
	g := r.def.Graph()
	if r.state != nil {
		g.Nodes[r.state.index].Role = "current"
	}
	n := 0
	for i := range r.def.States {
		for j := range r.def.States[i].Transitions {
			g.Edges[n].Count = r.fired[i][j]
			n++
		}
	}
	return g
}
