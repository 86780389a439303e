package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// builder builds one definition out of its document.
type builder struct {
	loader
	def      *Definition
	compiler *compiler
}

// Load reads a machine document (M1). file names it in messages and need not
// exist. The error is a *LoadError that lists every problem found.
func Load(file string, data []byte) (*Definition, error) {
	sum := sha256.Sum256(data)
	d := &Definition{
		Policy: DefaultPolicy, file: file, source: slices.Clone(data), digest: id.Digest(hex.EncodeToString(sum[:])),
		fields: map[string]*Field{}, agents: map[string]*Agent{}, states: map[string]*State{},
	}
	b := &builder{loader: loader{file: file}, def: d}
	root := b.parse(data)
	if root == nil {
		return nil, b.err()
	}
	top := b.record(root, "document", "fsm")
	fsm, ok := top["fsm"]
	if !ok {
		if len(b.problems) == 0 {
			b.report(root.Line, `put the machine under "fsm:"`, "document: has no fsm")
		}
		return nil, b.err()
	}
	b.machine(fsm)
	if err := b.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// machine reads what stands under fsm, in an order that lets every part check
// itself against the parts it names.
func (b *builder) machine(n *yaml.Node) {
	keys := b.record(n, "fsm", "name", "version", "initialState", "context", "agents", "states", "policy")
	if n.Kind != yaml.MappingNode {
		return
	}
	for _, k := range []string{"name", "version", "initialState", "context", "agents", "states"} {
		if keys[k] == nil {
			b.report(n.Line, "", "fsm: %s is missing", k)
		}
	}
	if v := keys["name"]; v != nil {
		if s, ok := b.text(v, "name"); ok {
			b.def.Name = s
			b.named(v.Line, "name", s)
		}
	}
	if v := keys["version"]; v != nil {
		b.def.Version, _ = b.whole(v, "version", 1)
	}
	if v := keys["context"]; v != nil {
		b.context(v)
	}
	compiler, err := newCompiler(b.def.Fields)
	if err != nil {
		b.report(n.Line, "", "context: guards cannot be prepared: %v", err)
		return
	}
	b.compiler = compiler
	for i := range b.def.Fields {
		b.validate(&b.def.Fields[i])
	}
	if v := keys["agents"]; v != nil {
		b.agents(v)
	}
	if v := keys["states"]; v != nil {
		b.states(v)
	}
	if v := keys["policy"]; v != nil {
		b.policy(v)
	}
	if keys["states"] != nil {
		b.link(keys["initialState"])
	}
}

func (b *builder) named(line int, what, name string) {
	if err := id.CheckName(what, name); err != nil {
		b.report(line, "", "%v", err)
	}
}

var (
	fieldName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	agentName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	celKeyword = []string{"in", "true", "false", "null"}
	allTypes   = []string{"string", "number", "integer", "boolean", "enum", "list", "map", "blob"}
	ofTypes    = []string{"string", "number", "integer", "boolean", "enum", "blob"}
)

// context reads the declared fields (M2).
func (b *builder) context(n *yaml.Node) {
	for _, p := range b.pairs(n, "context") {
		what := fmt.Sprintf("context: field %q", p.key)
		switch {
		case p.key == JournalRegion:
			b.report(p.line, "choose another name", "%s: the name is the journal's", what)
		case !fieldName.MatchString(p.key) || slices.Contains(celKeyword, p.key):
			b.report(p.line, "use letters, digits and underscores, at most 64, and no word of the guard language",
				"%s: not a field name", what)
		}
		f := Field{Name: p.key, Hidden: strings.HasPrefix(p.key, "_"), Line: p.line, index: len(b.def.Fields)}
		b.field(&f, p.value, what)
		b.def.Fields = append(b.def.Fields, f)
	}
	for i := range b.def.Fields {
		b.def.fields[b.def.Fields[i].Name] = &b.def.Fields[i]
	}
}

func (b *builder) field(f *Field, n *yaml.Node, what string) {
	f.Type = String // so that the rest can be checked when the type is wrong
	keys := b.record(n, what, "type", "of", "values", "validate", "maxItems")
	if n.Kind != yaml.MappingNode {
		return
	}
	if v := keys["type"]; v == nil {
		b.report(n.Line, "types: "+strings.Join(allTypes, ", "), "%s: type is missing", what)
		return
	} else if s, ok := b.text(v, what+": type"); !ok {
		return
	} else if !slices.Contains(allTypes, s) {
		b.report(v.Line, "types: "+strings.Join(allTypes, ", "), "%s: unknown type %q", what, s)
		return
	} else {
		f.Type = Type(s)
	}
	switch v := keys["of"]; {
	case v != nil && !f.Collection():
		b.report(v.Line, "remove it", "%s: of is for lists and maps", what)
	case v == nil && f.Collection():
		f.Of = String
		b.report(n.Line, "of: "+strings.Join(ofTypes, ", "), "%s: a %s needs of, the type of its values", what, f.Type)
	case v != nil:
		f.Of = String
		if s, ok := b.text(v, what+": of"); ok && !slices.Contains(ofTypes, s) {
			b.report(v.Line, "of: "+strings.Join(ofTypes, ", "), "%s: of %q is not a scalar type: collections are one level deep", what, s)
		} else if ok {
			f.Of = Type(s)
		}
	}
	b.words(f, n, keys["values"], what)
	if v := keys["validate"]; v != nil {
		f.Validate, _ = b.text(v, what+": validate")
	}
	if f.Collection() {
		f.MaxItems = DefaultMaxItems
	}
	if v := keys["maxItems"]; v != nil {
		if !f.Collection() {
			b.report(v.Line, "remove it", "%s: maxItems is for lists and maps", what)
		} else if m, ok := b.whole(v, what+": maxItems", 1); ok {
			f.MaxItems = m
		}
	}
}

// words reads the values of an enum.
func (b *builder) words(f *Field, n, values *yaml.Node, what string) {
	if f.Element() != Enum {
		if values != nil {
			b.report(values.Line, "remove it", "%s: values is for enums", what)
		}
		return
	}
	if values == nil {
		b.report(n.Line, "values: [first, second]", "%s: an enum needs values", what)
		return
	}
	list := b.items(values, what+": values")
	if len(list) == 0 && values.Kind == yaml.SequenceNode {
		b.report(values.Line, "values: [first, second]", "%s: an enum needs values", what)
	}
	for _, v := range list {
		s, ok := b.text(v, what+": values")
		switch {
		case !ok:
		case s == "":
			b.report(v.Line, "an absent field reads as the empty string", "%s: the empty string is not an enum word", what)
		case slices.Contains(f.Values, s):
			b.report(v.Line, "keep one of them", "%s: value %q is given twice", what, s)
		default:
			f.Values = append(f.Values, s)
		}
	}
}

// validate compiles a field's predicate.
func (b *builder) validate(f *Field) {
	if f.Validate == "" {
		return
	}
	p, err := b.compiler.validate(f.Element(), f.Validate)
	if err != nil {
		b.report(f.Line, "a predicate over value, of type "+celScalar(f.Element()).String(),
			"context: field %q: validate %q: %v", f.Name, f.Validate, err)
		return
	}
	f.validate = p
}

// agents reads the declared agents and the states they may write in (M7).
func (b *builder) agents(n *yaml.Node) {
	for _, p := range b.pairs(n, "agents") {
		what := fmt.Sprintf("agent %q", p.key)
		switch {
		case p.key == Writer:
			b.report(p.line, "choose another name", "%s: the name is the machine's own", what)
		case !agentName.MatchString(p.key):
			b.report(p.line, "begin with a letter or digit, then letters, digits, '_', '.' and '-', at most 64", "%s: not an agent name", what)
		}
		a := Agent{Name: p.key, Line: p.line, index: len(b.def.Agents), may: map[string]bool{}}
		keys := b.record(p.value, what, "canTransition")
		if v := keys["canTransition"]; v != nil {
			for _, s := range b.items(v, what+": canTransition") {
				name, ok := b.text(s, what+": canTransition")
				switch {
				case !ok:
				case a.may[name]:
					b.report(s.Line, "keep one of them", "%s: canTransition names %q twice", what, name)
				default:
					a.may[name] = true
					a.CanTransition = append(a.CanTransition, name)
				}
			}
		} else if p.value.Kind == yaml.MappingNode {
			b.report(p.line, "canTransition: [states it may write in]", "%s: canTransition is missing", what)
		}
		b.def.Agents = append(b.def.Agents, a)
	}
	for i := range b.def.Agents {
		b.def.agents[b.def.Agents[i].Name] = &b.def.Agents[i]
	}
}

// policy reads the bounds of a run (M10).
func (b *builder) policy(n *yaml.Node) {
	keys := b.record(n, "policy", "maxIterations", "maxExchangesPerStage", "maxExchangesPerAgentPerStage", "checkpointEvery")
	for _, bound := range []struct {
		key   string
		least int
		to    *int
	}{
		{"maxIterations", 0, &b.def.Policy.MaxIterations},
		{"maxExchangesPerStage", 1, &b.def.Policy.MaxExchangesPerStage},
		{"maxExchangesPerAgentPerStage", 1, &b.def.Policy.MaxExchangesPerAgentPerStage},
		{"checkpointEvery", 1, &b.def.Policy.CheckpointEvery},
	} {
		if v := keys[bound.key]; v != nil {
			if i, ok := b.whole(v, "policy: "+bound.key, bound.least); ok {
				*bound.to = i
			}
		}
	}
}

// literal type-checks the value that assign gives a field: "" clears it.
func (b *builder) literal(f *Field, n *yaml.Node, what string) (scalar, bool) {
	v, ok := b.value(n, what)
	if !ok {
		return scalar{}, false
	}
	if v == "" {
		return scalar{}, true
	}
	if x, isFloat := v.(float64); isFloat && (math.IsInf(x, 0) || math.IsNaN(x)) || v == nil {
		b.report(n.Line, `"" clears a field`, "%s: not a value of type %s", what, f.Type)
		return scalar{}, false
	}
	val, r := coerce(f, encode(v))
	if r == nil {
		r = f.check(val)
	}
	if r != nil {
		var no *refusal.Refusal
		errors.As(r, &no)
		b.report(n.Line, "", "%s: %s", what, no.Message)
		return scalar{}, false
	}
	return val, true
}

// check asks the field's validate predicate.
func (f *Field) check(val scalar) *refusal.Refusal {
	if f.validate == nil {
		return nil
	}
	ok, _, err := f.validate.eval(&valueActivation{val.v})
	if ok && err == nil {
		return nil
	}
	r := refusal.New(refusal.ValidateFailed, f.Name, "field %q does not take this value: validate %q is false", f.Name, f.Validate)
	if err != nil {
		r = refusal.New(refusal.ValidateFailed, f.Name, "field %q does not take this value: validate %q fails: %v", f.Name, f.Validate, err)
	}
	return r.WithFix("send a value for which %s holds", f.Validate)
}
