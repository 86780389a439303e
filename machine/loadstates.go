package machine

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate/refusal"
)

// states reads the declared states.
func (b *builder) states(n *yaml.Node) {
	pairs := b.pairs(n, "states")
	if len(pairs) == 0 && n.Kind == yaml.MappingNode {
		b.report(n.Line, "", "states: there is none")
	}
	for _, p := range pairs {
		b.named(p.line, "state", p.key)
		s := State{Name: p.key, Line: p.line, index: len(b.def.States)}
		b.state(&s, p.value)
		b.def.States = append(b.def.States, s)
	}
	for i := range b.def.States {
		b.def.states[b.def.States[i].Name] = &b.def.States[i]
	}
}

func (b *builder) state(s *State, n *yaml.Node) {
	what := fmt.Sprintf("state %q", s.Name)
	keys := b.record(n, what, "description", "requires", "transitions", "terminal")
	if n.Kind != yaml.MappingNode {
		return
	}
	if v := keys["terminal"]; v != nil {
		var ok bool
		if s.Terminal, ok = b.boolean(v, what+": terminal"); !ok {
			return
		}
	}
	if v := keys["description"]; v != nil {
		s.Description, _ = b.text(v, what+": description")
		s.objective = b.template(v, what, s.Description)
	}
	switch requires, transitions := keys["requires"], keys["transitions"]; {
	case s.Terminal:
		if requires != nil {
			b.report(requires.Line, "remove it", "%s: a terminal state requires nothing", what)
		}
		if transitions != nil {
			b.report(transitions.Line, "remove it", "%s: a terminal state has no transitions", what)
		}
	default:
		if requires != nil {
			b.requires(s, requires, what)
		}
		if transitions == nil || transitions.Kind == yaml.SequenceNode && len(transitions.Content) == 0 {
			b.report(s.Line, "add transitions, or terminal: true", "%s: has no transitions and is not terminal", what)
		} else {
			b.transitions(s, transitions, what)
		}
	}
}

// requires reads what a state gathers (M4).
func (b *builder) requires(s *State, n *yaml.Node, what string) {
	first := map[[2]string]int{}
	scalarFrom := map[string]string{}
	for _, item := range b.items(n, what+": requires") {
		keys := b.record(item, what+": requires", "name", "from", "required", "prompt")
		if item.Kind != yaml.MappingNode {
			continue
		}
		req := Requirement{Required: true, Line: item.Line}
		if v := keys["required"]; v != nil {
			req.Required, _ = b.boolean(v, what+": requires: required")
		}
		if v := keys["prompt"]; v != nil {
			req.Prompt, _ = b.text(v, what+": requires: prompt")
		}
		if v := keys["name"]; v == nil {
			b.report(item.Line, "", "%s: requires: name is missing", what)
		} else if name, ok := b.text(v, what+": requires: name"); ok {
			req.Field, req.field = name, b.gathered(v.Line, what, name)
		}
		if v := keys["from"]; v == nil {
			b.report(item.Line, "from: agent, or from: { agent: name }", "%s: requires field %q: from is missing", what, req.Field)
			continue
		} else if !b.from(s, &req, v, what) {
			continue
		}
		if req.field == nil {
			continue
		}
		key := [2]string{req.Field, req.Source}
		if line, dup := first[key]; dup {
			b.report(item.Line, "keep one of them", "%s: requires field %q from %s twice, first on line %d", what, req.Field, req.from(), line)
			continue
		}
		first[key] = item.Line
		if other, dup := scalarFrom[req.Field]; dup && req.Required && !req.field.Collection() && req.Source != "" && other != "" {
			b.report(item.Line, "use a map, whose entries are kept by author",
				"%s: requires field %q from both %q and %q, but a %s holds one value", what, req.Field, other, req.Source, req.field.Type)
			continue
		} else if req.Required {
			scalarFrom[req.Field] = req.Source
		}
		s.Requires = append(s.Requires, req)
	}
}

// gathered finds the field a requirement names.
func (b *builder) gathered(line int, what, name string) *Field {
	f, ok := b.def.fields[name]
	switch {
	case !ok:
		b.report(line, "", "%s: requires field %q: not in context (have %s)", what, name, b.have())
		return nil
	case f.Hidden:
		b.report(line, "name a field without a leading underscore", "%s: requires field %q: hidden from agents", what, name)
		return nil
	}
	f.Gathered = true
	return f
}

// have lists the fields agents can write.
func (b *builder) have() string {
	names := b.def.visible()
	if len(names) == 0 {
		return "none"
	}
	return refusal.List(names)
}

// from reads a requirement's source and finds the agents that can meet it.
func (b *builder) from(s *State, req *Requirement, n *yaml.Node, what string) bool {
	where := fmt.Sprintf("%s: requires field %q: from", what, req.Field)
	if n.Kind == yaml.ScalarNode {
		if word, ok := b.text(n, where); !ok {
			return false
		} else if word != "agent" {
			b.report(n.Line, fmt.Sprintf("from: agent, or from: { agent: %s }", word), "%s: %q is not a source", where, word)
			return false
		}
		for i := range b.def.Agents {
			if a := &b.def.Agents[i]; a.may[s.Name] {
				req.sources = append(req.sources, a.Name)
			}
		}
		if len(req.sources) == 0 {
			b.report(n.Line, "add the state to an agent's canTransition", "%s: no agent's canTransition names state %q", where, s.Name)
			return false
		}
	} else {
		v := b.record(n, where, "agent")["agent"]
		if v == nil {
			if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
				b.report(n.Line, "from: { agent: name }", "%s: agent is missing", where)
			}
			return false
		}
		name, ok := b.text(v, where)
		if !ok {
			return false
		}
		a, ok := b.def.agents[name]
		if !ok {
			b.report(v.Line, "", "%s: unknown agent %q (have %s)", where, name, b.haveAgents())
			return false
		}
		if !a.may[s.Name] {
			b.report(v.Line, fmt.Sprintf("add %q to its canTransition", s.Name), "%s: agent %q may not write in state %q", where, name, s.Name)
			return false
		}
		req.Source, req.sources = name, []string{name}
	}
	for _, name := range req.sources {
		req.keys = append(req.keys, agentKey(name))
	}
	return true
}

// from names a requirement's source in a message.
func (r *Requirement) from() string {
	if r.Source == "" {
		return "any agent"
	}
	return fmt.Sprintf("agent %q", r.Source)
}

func (b *builder) haveAgents() string {
	var names []string
	for i := range b.def.Agents {
		names = append(names, b.def.Agents[i].Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return refusal.List(names)
}

// agentKey is the key of an agent's own entry of a map.
func agentKey(agent string) string { return "agent:" + agent }

// transitions reads the ways out of a state, in order (M6).
func (b *builder) transitions(s *State, n *yaml.Node, what string) {
	for _, item := range b.items(n, what+": transitions") {
		keys := b.record(item, what+": transition", "toState", "guards", "onTransition")
		if item.Kind != yaml.MappingNode {
			continue
		}
		t := Transition{Line: item.Line}
		if v := keys["toState"]; v == nil {
			b.report(item.Line, "", "%s: transition: toState is missing", what)
		} else if name, ok := b.text(v, what+": transition: toState"); ok {
			t.To, t.Line = name, v.Line
		}
		where := fmt.Sprintf("%s: transition to %q", what, t.To)
		if v := keys["guards"]; v != nil {
			for _, g := range b.items(v, where+": guards") {
				b.guard(&t, g, where)
			}
		}
		if v := keys["onTransition"]; v != nil {
			for _, a := range b.items(v, where+": onTransition") {
				b.action(&t, a, where+": onTransition")
			}
		}
		s.Transitions = append(s.Transitions, t)
	}
}

func (b *builder) guard(t *Transition, n *yaml.Node, where string) {
	keys := b.record(n, where+": guard", "backend", "expression")
	if n.Kind != yaml.MappingNode {
		return
	}
	if v := keys["backend"]; v != nil {
		if name, ok := b.text(v, where+": guard: backend"); ok && name != "cel" {
			b.report(v.Line, "backend: cel", "%s: guard: unknown backend %q", where, name)
			return
		}
	}
	v := keys["expression"]
	if v == nil {
		b.report(n.Line, "", "%s: guard: expression is missing", where)
		return
	}
	expression, ok := b.text(v, where+": guard: expression")
	if !ok {
		return
	}
	p, err := b.compiler.guard(expression)
	if err != nil {
		b.report(v.Line, "context has "+b.signature(), "%s: guard %q: %v", where, expression, err)
		return
	}
	t.Guards = append(t.Guards, Guard{Expression: expression, Line: v.Line, program: p})
}

// signature lists the fields with the types guards see.
func (b *builder) signature() string {
	var parts []string
	for i := range b.def.Fields {
		f := &b.def.Fields[i]
		parts = append(parts, f.Name+" "+celType(f).String())
	}
	if len(parts) == 0 {
		return "no fields"
	}
	return strings.Join(parts, ", ")
}

func (b *builder) action(t *Transition, n *yaml.Node, where string) {
	keys := b.record(n, where, "assign", "remove")
	if n.Kind != yaml.MappingNode {
		return
	}
	if len(n.Content) != 2 {
		b.report(n.Line, "one assign or one remove an item", "%s: an action is one of assign and remove", where)
		return
	}
	for _, kind := range []ActionKind{Assign, Remove} {
		v := keys[string(kind)]
		if v == nil {
			continue
		}
		for _, p := range b.pairs(v, where+": "+string(kind)) {
			what := fmt.Sprintf("%s: %s %q", where, kind, p.key)
			f, ok := b.def.fields[p.key]
			if !ok {
				b.report(p.line, "", "%s: not in context (have %s)", what, b.have())
				continue
			}
			a := Action{Kind: kind, Field: p.key, field: f}
			if b.effect(&a, p.value, what) {
				t.Actions = append(t.Actions, a)
			}
		}
	}
}

// effect checks one action against its field's type.
func (b *builder) effect(a *Action, n *yaml.Node, what string) bool {
	f := a.field
	if a.Kind == Assign {
		if f.Collection() {
			fix := "a list keeps what it has"
			if f.Type == Map {
				fix = fmt.Sprintf(`remove: { %s: "*" } clears it`, f.Name)
			}
			b.report(n.Line, fix, "%s: a %s cannot be assigned", what, f.Type)
			return false
		}
		val, ok := b.literal(f, n, what)
		if ok && val.present() {
			a.value, a.Value = val, val.json()
		}
		return ok
	}
	if f.Type != Map {
		fix := "a list keeps what it has"
		if f.Type != List {
			fix = fmt.Sprintf(`assign: { %s: "" } clears it`, f.Name)
		}
		b.report(n.Line, fix, "%s: remove is for maps, the field is a %s", what, f.Type)
		return false
	}
	key, ok := b.text(n, what)
	if ok && key == "" {
		b.report(n.Line, `one key, or "*" for all`, "%s: the key is empty", what)
		return false
	}
	a.Key = key
	return ok
}
