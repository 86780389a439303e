package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's, seen from this package.
const root = "../.."

func project(t *testing.T) *Tree {
	t.Helper()
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 10 {
		t.Fatalf("found %d packages: is %s the module's root?", len(tree.Packages), root)
	}
	return tree
}

func report(t *testing.T, problems []Problem) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

func TestArrows(t *testing.T)   { report(t, Arrows(project(t), Rules)) }
func TestComments(t *testing.T) { report(t, Comments(project(t))) }
func TestSizes(t *testing.T)    { report(t, Sizes(project(t))) }
func TestNames(t *testing.T)    { report(t, Names(project(t))) }
func TestPurity(t *testing.T)   { report(t, Purity(project(t), Rules)) }

func TestPaths(t *testing.T) {
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	// A copy at the top of the file system has no name to look for.
	if strings.Count(filepath.ToSlash(here), "/") > 1 {
		own = append(own, filepath.ToSlash(here))
	}
	problems, err := Paths(os.DirFS(root), own...)
	if err != nil {
		t.Fatal(err)
	}
	report(t, problems)
}

func TestDocuments(t *testing.T) {
	decisions, err := filepath.Glob(filepath.Join(root, "docs/adr/*.md"))
	if err != nil || len(decisions) == 0 {
		t.Fatalf("no decisions under docs/adr: %v", err)
	}
	names := []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "GLOSSARY.md", "SECURITY.md"}
	for _, d := range decisions {
		names = append(names, "docs/adr/"+filepath.Base(d))
	}
	problems, err := Documents(project(t), names...)
	if err != nil {
		t.Fatal(err)
	}
	report(t, problems)
}

// Every rule has a reason, and a place of its own that an earlier rule does not
// already answer for.
func TestRules(t *testing.T) {
	for i, r := range Rules {
		if r.Because == "" {
			t.Errorf("the rule of %q has no reason", r.Place)
		}
		if first := RuleFor(Rules, strings.TrimSuffix(r.Place, "/...")); first != &Rules[i] {
			t.Errorf("the rule of %q is never asked: that of %q comes first", r.Place, first.Place)
		}
	}
}
