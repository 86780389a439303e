package archtest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxLines is how long a file that a person wrote may be.
const MaxLines = 600

// vague are names that say nothing of what a package is about.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "core"}

// Comments asks for a package comment of at least two sentences: what the package
// is, and what it may import or must not know. A command that an example is made of
// tells its story in the package it calls; one sentence is enough for it.
func Comments(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		source := p.Source()
		if len(source) == 0 {
			continue // tests alone: nobody imports it
		}
		var text string
		for _, f := range source {
			if f.Syntax.Doc != nil {
				if text != "" {
					out = append(out, Problem{path.Join(p.Dir, f.Name), "a second package comment: keep one, in the file a reader opens first"})
				}
				text = f.Syntax.Doc.Text()
			}
		}
		least := 2
		if strings.HasPrefix(p.Dir, "examples/") && source[0].Pkg == "main" {
			least = 1
		}
		if have := sentences(text); have < least {
			out = append(out, Problem{p.Dir, fmt.Sprintf("the package comment has %d sentences, at least %d are due: "+
				"say what the package is, and what it may import or must not know", have, least)})
		}
	}
	return out
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')]*(\s|$)`)

// sentences counts the sentences of a comment's prose; code blocks are left out.
func sentences(text string) int {
	var p doc.Package
	count := 0
	for _, block := range p.Parser().Parse(text).Content {
		if s := string(p.Printer().Text(docOf(block))); !strings.HasPrefix(s, "\t") {
			count += len(sentenceEnd.FindAllString(s, -1))
		}
	}
	return count
}

// Sizes holds files to MaxLines.
func Sizes(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Lines > MaxLines && !f.Generated {
				out = append(out, Problem{path.Join(p.Dir, f.Name), fmt.Sprintf("%d lines, the limit is %d: look for the second idea in it and give it a file", f.Lines, MaxLines)})
			}
		}
	}
	return out
}

// Names refuses package and directory names that say nothing.
func Names(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		names := strings.Split(p.Dir, "/")
		for _, f := range p.Files {
			names = append(names, strings.TrimSuffix(f.Pkg, "_test"))
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if slices.Contains(vague, name) {
				out = append(out, Problem{p.Dir, fmt.Sprintf("%q says nothing of what is in it: name the package for its one idea", name)})
			}
		}
	}
	return out
}

// impure are the packages of the standard library that a decider has no use for:
// they read the world, wait for it or draw lots.
var impure = []string{"os/...", "net/...", "database/...", "log/...", "math/rand/...", "crypto/rand", "sync/...", "syscall", "runtime/...", "testing/..."}

// timed are what of package time reads or awaits the clock.
var timed = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// Purity holds the source of deciders to what pure code can do.
func Purity(t *Tree, rules []Rule) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		if r := RuleFor(rules, p.Dir); r == nil || !r.Pure {
			continue
		}
		for _, f := range p.Source() {
			for _, imported := range f.Imports {
				if matchesAny(impure, imported) {
					out = append(out, Problem{path.Join(p.Dir, f.Name), "a decider imports " + imported + ": what it needs of the world arrives as an argument"})
				}
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				what := ""
				switch n := n.(type) {
				case *ast.GoStmt:
					what = "starts a goroutine: decisions are made in one order"
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == nameOf(f, "time") && slices.Contains(timed, n.Sel.Name) {
						what = "uses time." + n.Sel.Name + ": instants arrive as arguments"
					}
				}
				if what != "" {
					out = append(out, Problem{t.Fset.Position(n.Pos()).String(), "a decider " + what})
				}
				return true
			})
		}
	}
	return out
}

// nameOf is the name under which a file knows an import, or "" when it has none.
func nameOf(f File, imported string) string {
	for _, spec := range f.Syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == imported {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}
