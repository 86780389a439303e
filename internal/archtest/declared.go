package archtest

import "go/ast"

// declared are the names that each of our packages declares, by package name: types,
// functions, values, and as Type.Name the fields and methods of types.
func (t *Tree) declared() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, p := range t.Packages {
		for _, f := range p.Source() {
			if f.Pkg == "main" {
				continue
			}
			names := out[f.Pkg]
			if names == nil {
				names = map[string]bool{}
				out[f.Pkg] = names
			}
			for _, d := range f.Syntax.Decls {
				declare(names, d)
			}
		}
	}
	return out
}

func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) > 0 {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		names[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				for _, member := range members(s.Type) {
					names[s.Name.Name+"."+member] = true
				}
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// members are the fields of a struct or the methods of an interface, those of what
// they embed by its name alone.
func members(e ast.Expr) []string {
	var fields *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		fields = e.Fields
	case *ast.InterfaceType:
		fields = e.Methods
	default:
		return nil
	}
	var out []string
	for _, f := range fields.List {
		for _, n := range f.Names {
			out = append(out, n.Name)
		}
	}
	return out
}
