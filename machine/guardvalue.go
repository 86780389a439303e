package machine

import (
	"errors"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// guardValue is the field's value as guards read it, without copying a collection.
// An absent field reads as its type's zero value.
func (c *cell) guardValue() ref.Val {
	switch c.field.Type {
	case List:
		return types.NewRefValList(types.DefaultTypeAdapter, c.vals)
	case Map:
		return &mapValue{c}
	}
	if c.value.val.present() {
		return c.value.val.v
	}
	return zero(c.field.Type)
}

// activation gives a guard its one variable.
type activation struct{ context contextValue }

func (a *activation) ResolveName(name string) (any, bool) {
	if name == "context" {
		return &a.context, true
	}
	return nil, false
}

func (a *activation) Parent() interpreter.Activation { return nil }

// valueActivation gives a validate predicate its one variable.
type valueActivation struct{ value ref.Val }

func (a *valueActivation) ResolveName(name string) (any, bool) {
	if name == "value" {
		return a.value, true
	}
	return nil, false
}

func (a *valueActivation) Parent() interpreter.Activation { return nil }

var errNative = errors.New("a context value has no native form")

// contextValue is the whole context as a CEL value; its members are reached
// through the provider.
type contextValue struct{ run *Run }

var contextObject = types.NewObjectType(contextType)

func (v *contextValue) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }
func (v *contextValue) ConvertToType(ref.Type) ref.Val            { return types.NewErr("no such conversion") }
func (v *contextValue) Equal(other ref.Val) ref.Val {
	o, ok := other.(*contextValue)
	return types.Bool(ok && o.run == v.run)
}
func (v *contextValue) Type() ref.Type { return contextObject }
func (v *contextValue) Value() any     { return v.run }

// mapValue is a map field as a CEL map. Its keys iterate in the order they were
// first written, never in Go's random order, so that a guard costs and yields the
// same in every replay.
type mapValue struct{ c *cell }

var _ traits.Mapper = (*mapValue)(nil)

func (m *mapValue) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

func (m *mapValue) ConvertToType(t ref.Type) ref.Val {
	if t == types.MapType {
		return m
	}
	return types.NewErr("no such conversion")
}

func (m *mapValue) Type() ref.Type { return types.MapType }
func (m *mapValue) Value() any     { return m }
func (m *mapValue) Size() ref.Val  { return types.Int(len(m.c.items)) }

func (m *mapValue) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	i, ok := m.c.index[string(k)]
	if !ok {
		return nil, false
	}
	return m.c.vals[i], true
}

func (m *mapValue) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return types.NewErr("no such key: %v", key.Value())
}

func (m *mapValue) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

func (m *mapValue) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok || o.Size() != m.Size() {
		return types.False
	}
	for i, it := range m.c.items {
		v, found := o.Find(types.String(it.key))
		if !found || m.c.vals[i].Equal(v) != types.True {
			return types.False
		}
	}
	return types.True
}

func (m *mapValue) Iterator() traits.Iterator {
	keys := make([]ref.Val, len(m.c.items))
	for i := range m.c.items {
		keys[i] = types.String(m.c.items[i].key)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}
