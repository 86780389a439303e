package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is what Decode does with a type.
type shape int

const (
	shapeOpaque  shape = iota // the type reads itself, or anything goes
	shapeRaw                  // json.RawMessage: bytes as they came
	shapeStruct               // an object with known members
	shapeSlice                // an array
	shapeMap                  // an object with free names
	shapePointer              // null or a value
	shapeString
	shapeBytes // base64 in a string
	shapeBool
	shapeInt
	shapeFloat
)

// plan is how Decode reads one type. Plans are made once a type and never change.
type plan struct {
	typ      reflect.Type
	shape    shape
	elem     *plan
	fields   map[string]*field
	required []*field
	order    []string
}

// field is one member of a struct.
type field struct {
	name  string
	index []int
	bit   uint
	plan  *plan
}

var (
	plansMu sync.Mutex
	plans   = map[reflect.Type]*plan{}

	rawType         = reflect.TypeFor[json.RawMessage]()
	timeType        = reflect.TypeFor[time.Time]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// planOf returns the plan of a type, or an error when Decode cannot read it.
func planOf(t reflect.Type) (*plan, error) {
	plansMu.Lock()
	defer plansMu.Unlock()
	if p, ok := plans[t]; ok {
		return p, nil
	}
	made := map[reflect.Type]*plan{}
	p, err := makePlan(t, made)
	if err != nil {
		return nil, err
	}
	for t, p := range made {
		plans[t] = p
	}
	return p, nil
}

// makePlan builds a plan and those of the types inside it, which may be recursive.
func makePlan(t reflect.Type, made map[reflect.Type]*plan) (*plan, error) {
	if p, ok := plans[t]; ok {
		return p, nil
	}
	if p, ok := made[t]; ok {
		return p, nil
	}
	p := &plan{typ: t}
	made[t] = p
	pointer := reflect.PointerTo(t)
	var err error
	switch {
	case t == rawType:
		p.shape = shapeRaw
	case t.Kind() == reflect.Interface, pointer.Implements(unmarshalerType), pointer.Implements(textType):
		p.shape = shapeOpaque
	case t.Kind() == reflect.String:
		p.shape = shapeString
	case t.Kind() == reflect.Bool:
		p.shape = shapeBool
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		p.shape = shapeInt
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		p.shape = shapeFloat
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		p.shape = shapeBytes
	case t.Kind() == reflect.Slice:
		p.shape = shapeSlice
		p.elem, err = makePlan(t.Elem(), made)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		p.shape = shapeMap
		p.elem, err = makePlan(t.Elem(), made)
	case t.Kind() == reflect.Pointer:
		p.shape = shapePointer
		p.elem, err = makePlan(t.Elem(), made)
	case t.Kind() == reflect.Struct:
		p.shape = shapeStruct
		p.fields = map[string]*field{}
		err = p.addFields(t, nil, made)
	default:
		err = fmt.Errorf("wire: a body cannot hold a %s", t)
	}
	return p, err
}

// addFields adds the members of a struct; those of an embedded struct without a
// name of its own count as the struct's.
func (p *plan) addFields(t reflect.Type, at []int, made map[reflect.Type]*plan) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(append([]int(nil), at...), i)
		switch {
		case tag == "-" || (!f.IsExported() && !f.Anonymous):
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			if err := p.addFields(f.Type, index, made); err != nil {
				return err
			}
			continue
		case name == "":
			name = f.Name
		}
		if _, twice := p.fields[name]; twice || len(p.fields) == 64 || strings.Contains(options, "string") {
			return fmt.Errorf("wire: %s.%s: a body has at most 64 members of different names and no ,string option", t, f.Name)
		}
		inner, err := makePlan(f.Type, made)
		if err != nil {
			return fmt.Errorf("%w (in %s.%s)", err, t, f.Name)
		}
		member := &field{name: name, index: index, bit: uint(len(p.fields)), plan: inner}
		p.fields[name] = member
		p.order = append(p.order, name)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			p.required = append(p.required, member)
		}
	}
	return nil
}

// nullable says whether null stands for the absent value of the type.
func (p *plan) nullable() bool {
	return p.shape == shapePointer || p.shape == shapeSlice || p.shape == shapeMap || p.shape == shapeBytes
}

// describe names what the type takes, for a fix.
func (p *plan) describe() string {
	switch p.shape {
	case shapePointer:
		return p.elem.describe()
	case shapeString:
		return "a string"
	case shapeBytes:
		return "a string of base64"
	case shapeBool:
		return "true or false"
	case shapeInt:
		return fmt.Sprintf("a whole number of %d bits, as plain digits", p.typ.Bits())
	case shapeFloat:
		return "a number"
	case shapeSlice:
		return "an array"
	case shapeMap:
		return "an object"
	case shapeStruct:
		return "an object; " + p.listFields()
	case shapeOpaque:
		if p.typ == timeType {
			return `a time such as "2026-01-02T15:04:05Z"`
		}
	}
	return "a JSON value"
}

// listFields lists a struct's members, for a fix.
func (p *plan) listFields() string {
	if len(p.order) == 0 {
		return "there are no fields"
	}
	return "the fields are " + strings.Join(p.order, ", ")
}

// kindName names a JSON type as a person would.
func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "something else"
}

// placeOf writes a JSON pointer as a path that begins at root: $.entries[3].region.
// The decoder knows which steps are indexes. A long path is cut.
func placeOf(dec *jsontext.Decoder, root string, pointer jsontext.Pointer) string {
	place, depth := root, 0
	for step := range pointer.Tokens() {
		depth++
		if len(place) > maxPlace {
			return place + "…"
		}
		if depth <= dec.StackDepth() {
			if kind, _ := dec.StackIndex(depth); kind == '[' {
				place += "[" + step + "]"
				continue
			}
		}
		place = member(place, step)
	}
	return place
}

// member is the place of a name inside an object. A name that a path cannot show
// plainly is quoted, and a long one is cut.
func member(place, name string) string {
	plain := name != "" && len(name) <= maxShown
	for i := 0; plain && i < len(name); i++ {
		c := name[i]
		plain = c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	if plain {
		return place + "." + name
	}
	return place + "[" + strconv.Quote(cut(name)) + "]"
}

// maxPlace is how many bytes of a path are enough to find it by.
const maxPlace = 200

// maxShown is the most bytes of somebody's text that a message repeats.
const maxShown = 64

// cut shortens text that a message repeats, at a rune's edge.
func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
