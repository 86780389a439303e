package machine

import (
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate/refusal"
)

// segment is a piece of an objective: literal text, or a field to render.
type segment struct {
	text  string
	field *Field
}

var (
	placeholder = regexp.MustCompile(`\{\{(.*?)\}\}`)
	contextName = regexp.MustCompile(`^\s*context\.([A-Za-z_][A-Za-z0-9_]*)\s*$`)
)

// template reads the {{ context.x }} places of a description.
func (b *builder) template(n *yaml.Node, what, text string) []segment {
	var out []segment
	end := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > end {
			out = append(out, segment{text: text[end:m[0]]})
		}
		end = m[1]
		inner := text[m[2]:m[3]]
		name := contextName.FindStringSubmatch(inner)
		if name == nil {
			b.report(n.Line, "write {{ context.field }}", "%s: description: {{%s}} is not a field", what, inner)
			continue
		}
		f, ok := b.def.fields[name[1]]
		switch {
		case !ok:
			b.report(n.Line, "", "%s: description: field %q: not in context (have %s)", what, name[1], b.have())
		case f.Hidden:
			b.report(n.Line, "", "%s: description: field %q: hidden from agents", what, name[1])
		default:
			out = append(out, segment{field: f})
		}
	}
	if end < len(text) {
		out = append(out, segment{text: text[end:]})
	}
	return out
}

// link checks what states and agents say of each other and fixes the references.
func (b *builder) link(initial *yaml.Node) {
	var names []string
	for i := range b.def.States {
		names = append(names, b.def.States[i].Name)
	}
	have := "none"
	if len(names) > 0 {
		have = refusal.List(names)
	}
	for i := range b.def.Agents {
		a := &b.def.Agents[i]
		for _, s := range a.CanTransition {
			if b.def.states[s] == nil {
				b.report(a.Line, "", "agent %q: canTransition names %q: no such state (have %s)", a.Name, s, have)
			}
		}
	}
	whole := true
	for i := range b.def.States {
		s := &b.def.States[i]
		for j := range s.Transitions {
			t := &s.Transitions[j]
			if t.to = b.def.states[t.To]; t.to == nil && t.To != "" {
				whole = false
				b.report(t.Line, "", "state %q: transition to %q: no such state (have %s)", s.Name, t.To, have)
			}
		}
		b.ask(s)
	}
	if initial == nil {
		return
	}
	name, ok := b.text(initial, "initialState")
	if !ok {
		return
	}
	b.def.Initial = name
	start := b.def.states[name]
	if start == nil {
		b.report(initial.Line, "", "initialState: %q: no such state (have %s)", name, have)
		return
	}
	if whole {
		b.reach(start)
	}
}

// reach reports the states that no path of transitions leads to.
func (b *builder) reach(start *State) {
	reached := make([]bool, len(b.def.States))
	reached[start.index] = true
	for queue := []*State{start}; len(queue) > 0; queue = queue[1:] {
		for _, t := range queue[0].Transitions {
			if t.to != nil && !reached[t.to.index] {
				reached[t.to.index] = true
				queue = append(queue, t.to)
			}
		}
	}
	for i := range b.def.States {
		if !reached[i] {
			s := &b.def.States[i]
			b.report(s.Line, "add a transition to it, or remove it", "state %q: cannot be reached from %q", s.Name, start.Name)
		}
	}
}

// ask groups a state's requirements by agent.
func (b *builder) ask(s *State) {
	for i := range b.def.Agents {
		a := &b.def.Agents[i]
		k := ask{agent: a.index}
		for j := range s.Requires {
			if req := &s.Requires[j]; slices.Contains(req.sources, a.Name) {
				if req.Required {
					k.required = append(k.required, j)
				} else {
					k.optional = append(k.optional, j)
				}
			}
		}
		if len(k.required)+len(k.optional) > 0 {
			s.asked = append(s.asked, k)
		}
	}
}
