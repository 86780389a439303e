// Package archtest holds the project to its own shape: which package may import
// which, what every package must say of itself, and what a decider must not do. It
// reads source text and documents from a file system; the rules are a table, and
// each of them carries the reason that a person is told when it is broken.
//
// It imports the standard library alone and must not be imported by anything.
package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Module is the path that every import of our own begins with.
const Module = "github.com/slate-agents/slate"

// Problem is one place where a rule does not hold, in one line a person can act on.
type Problem struct {
	Where string
	What  string
}

func (p Problem) String() string { return p.Where + ": " + p.What }

// File is one Go file of a package.
type File struct {
	Name string
	// Test is set for a _test.go file, Generated where a tool wrote it.
	Test, Generated bool
	Lines           int
	// Imports are the paths it imports, Pkg the name in its package clause.
	Imports []string
	Pkg     string
	// Syntax is the parsed file, positions in the tree's Fset.
	Syntax *ast.File
}

// Package is one directory with Go files.
type Package struct {
	// Dir is relative to the module's root, which is ".".
	Dir   string
	Files []File
}

// Tree is a module's source.
type Tree struct {
	FS       fs.FS
	Fset     *token.FileSet
	Packages []*Package
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// Load reads every package below the root of fsys, for every system that a file may
// be built on. Like the go command it passes over testdata, and directories whose
// name begins with a dot or an underscore.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{FS: fsys, Fset: token.NewFileSet()}
	byDir := map[string]*Package{}
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(t.Fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("archtest: %w", err)
		}
		dir := path.Dir(name)
		p := byDir[dir]
		if p == nil {
			p = &Package{Dir: dir}
			byDir[dir] = p
			t.Packages = append(t.Packages, p)
		}
		f := File{Name: path.Base(name), Test: strings.HasSuffix(name, "_test.go"), Generated: generated.Match(data),
			Lines: bytes.Count(data, []byte("\n")), Pkg: syntax.Name.Name, Syntax: syntax}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.Imports = append(f.Imports, imported)
		}
		p.Files = append(p.Files, f)
		return nil
	})
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return t, err
}

// walk visits the files of the module's source.
func walk(fsys fs.FS, visit func(name string) error) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		return visit(name)
	})
}

// Source returns the package's files that are no tests.
func (p *Package) Source() []File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f File) bool { return f.Test })
}

// local is the directory that an import path of our own names.
func local(imported string) (dir string, ok bool) {
	if imported == Module {
		return ".", true
	}
	return strings.CutPrefix(imported, Module+"/")
}

// standard reports whether an import path is the standard library's: its first
// element has no dot.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// matches reports whether a path is what a pattern names: itself, or with a /...
// behind it everything below it too.
func matches(pattern, name string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == below || strings.HasPrefix(name, below+"/")
	}
	return name == pattern
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}
