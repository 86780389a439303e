package machine

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// contextType is the name CEL knows the context by.
const contextType = "slate.Context"

// predicate is one compiled expression that yields a boolean.
type predicate struct {
	program cel.Program
}

// errCost is what eval returns when the expression passed GuardCostLimit.
var errCost = errors.New("cost limit exceeded")

// eval evaluates the predicate and returns its cost in CEL cost units.
func (p *predicate) eval(vars cel.Activation) (bool, uint64, error) {
	out, details, err := p.program.Eval(vars)
	var cost uint64
	if c := details.ActualCost(); c != nil {
		cost = *c
	}
	if err != nil {
		var cancelled interpreter.EvalCancelledError
		if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
			return false, cost, errCost
		}
		return false, cost, err
	}
	return out == types.True, cost, nil
}

// compiler compiles the guards and validate predicates of one document.
type compiler struct {
	guards *cel.Env
	values map[Type]*cel.Env
}

// library is the standard library without dyn and type, so that every expression
// has one type that is known when the document loads, and without the parts of an
// instant, which would be read from the host's time zone files.
func library() cel.EnvOption {
	subset := env.NewLibrarySubset()
	for _, name := range []string{"dyn", "type", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek",
		"getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds"} {
		subset.AddExcludedFunctions(env.NewFunction(name))
	}
	return cel.StdLib(cel.StdLibSubset(subset))
}

// newCompiler declares the fields as the members of context.
func newCompiler(fields []Field) (*compiler, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	p := &provider{Registry: registry, fields: map[string]*types.FieldType{}}
	for i := range fields {
		f := &fields[i]
		p.names = append(p.names, f.Name)
		p.fields[f.Name] = &types.FieldType{
			Type:    celType(f),
			IsSet:   func(target any) bool { return target.(*Run).cells[f.index].present() },
			GetFrom: func(target any) (any, error) { return target.(*Run).cells[f.index].guardValue(), nil },
		}
	}
	c := &compiler{values: map[Type]*cel.Env{}}
	c.guards, err = cel.NewCustomEnv(library(), cel.CustomTypeProvider(p), cel.CustomTypeAdapter(registry),
		cel.Variable("context", cel.ObjectType(contextType)))
	if err != nil {
		return nil, err
	}
	for _, t := range []Type{String, Number, Integer, Boolean} {
		c.values[t], err = cel.NewCustomEnv(library(), cel.Variable("value", celScalar(t)))
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// guard compiles a predicate over context.
func (c *compiler) guard(expression string) (*predicate, error) { return compile(c.guards, expression) }

// validate compiles a predicate over one value of the type.
func (c *compiler) validate(t Type, expression string) (*predicate, error) {
	if t == Enum || t == Blob {
		t = String
	}
	return compile(c.values[t], expression)
}

// MaxExpression is the longest guard or validate expression, in bytes.
const MaxExpression = 10000

func compile(e *cel.Env, expression string) (*predicate, error) {
	if len(expression) > MaxExpression {
		return nil, fmt.Errorf("it has %d bytes, the limit is %d", len(expression), MaxExpression)
	}
	ast, issues := e.Compile(expression)
	if errs := issues.Errors(); len(errs) > 0 {
		message, _, _ := strings.Cut(errs[0].Message, " expecting {")
		return nil, errors.New(strings.TrimSpace(message))
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("it yields %s, a predicate yields bool", ast.OutputType())
	}
	if builds(ast.NativeRep().Expr()) {
		return nil, errors.New("it builds a map or an object; a predicate only reads them")
	}
	for _, t := range ast.NativeRep().TypeMap() {
		if dynamic(t) {
			return nil, errors.New("it has a part whose type is not known before it runs")
		}
	}
	program, err := e.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(GuardCostLimit))
	if err != nil {
		return nil, err
	}
	return &predicate{program: program}, nil
}

// builds says whether an expression has a map or object literal. A literal map
// iterates in random order, which no replay could reproduce.
func builds(e celast.Expr) bool {
	found := false
	celast.PostOrderVisit(e, celast.NewExprVisitor(func(e celast.Expr) {
		found = found || e.Kind() == celast.MapKind || e.Kind() == celast.StructKind
	}))
	return found
}

// dynamic says whether a type or one of its parameters is dyn, any or an error.
func dynamic(t *types.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.ErrorKind:
		return true
	}
	for _, p := range t.Parameters() {
		if dynamic(p) {
			return true
		}
	}
	return false
}

// celType is the CEL type of a field: an enum and a blob are strings.
func celType(f *Field) *types.Type {
	switch f.Type {
	case List:
		return types.NewListType(celScalar(f.Of))
	case Map:
		return types.NewMapType(types.StringType, celScalar(f.Of))
	}
	return celScalar(f.Type)
}

func celScalar(t Type) *types.Type {
	switch t {
	case Number:
		return types.DoubleType
	case Integer:
		return types.IntType
	case Boolean:
		return types.BoolType
	}
	return types.StringType
}

// provider declares the one structured type guards see.
type provider struct {
	*types.Registry
	names  []string
	fields map[string]*types.FieldType
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if name == contextType {
		return types.NewTypeTypeWithParam(types.NewObjectType(contextType)), true
	}
	return nil, false
}

func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	return p.names, name == contextType
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != contextType {
		return nil, false
	}
	t, ok := p.fields[field]
	return t, ok
}

// NewValue refuses: no expression may build a context.
func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("%s cannot be built in an expression", name)
}
