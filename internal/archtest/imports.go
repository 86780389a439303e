package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Arrows holds every package of a tree to the rule of its place.
func Arrows(t *Tree, rules []Rule) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		r := RuleFor(rules, p.Dir)
		if r == nil {
			out = append(out, Problem{p.Dir, "no rule says what this package may import: add one to Rules in internal/archtest/rules.go, " +
				"with the reason, and a line in ARCHITECTURE.md; if no reason comes to mind, the code may belong to a package that is there"})
			continue
		}
		for _, f := range p.Files {
			for _, imported := range f.Imports {
				if what := r.forbids(p.Dir, f, imported); what != "" {
					out = append(out, Problem{path.Join(p.Dir, f.Name), what})
				}
			}
		}
	}
	return out
}

// forbids says what is wrong with an import, or nothing.
func (r *Rule) forbids(dir string, f File, imported string) string {
	if standard(imported) {
		return ""
	}
	name, ours := local(imported)
	allowed, tests, kind := slices.Clone(r.Third), append(slices.Clone(r.TestThird), TestThird...), "a package of others"
	if ours {
		allowed, tests, kind = slices.Clone(r.Imports), append([]string{dir + "/..."}, r.Tests...), "a package of ours"
		// Going through the root would lead back to whoever imports it.
		if name == "." && !f.Test && !matchesAny(RootIsFor, dir) {
			return fmt.Sprintf("imports the root package, which only %s may: the root assembles what is below it", strings.Join(RootIsFor, ", "))
		}
	} else {
		name = imported
	}
	if f.Test {
		allowed = append(allowed, tests...)
	}
	if matchesAny(allowed, name) || slices.Contains(allowed, "...") {
		return ""
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	have := "nothing of that kind"
	if len(allowed) > 0 {
		have = strings.Join(allowed, ", ")
	}
	return fmt.Sprintf("imports %s, %s that the rule of %q does not list (it lists: %s), because %s", name, kind, r.Place, have, r.Because)
}
