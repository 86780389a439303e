package archtest

import (
	"strings"
	"testing"
	"testing/fstest"
)

// good is a package comment that passes.
const good = "// Package p is here. It must not know anything.\n"

// tree makes a tree of files from path, source pairs.
func tree(t *testing.T, pairs ...string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	loaded, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// importing is the source of a package that imports these paths.
func importing(paths ...string) string {
	src := good + "package p\n"
	for _, p := range paths {
		src += "import _ \"" + p + "\"\n"
	}
	return src
}

// expect wants one problem that says all of these, or none when there are none.
func expect(t *testing.T, got []Problem, says ...string) {
	t.Helper()
	if len(says) == 0 {
		if len(got) > 0 {
			t.Errorf("unexpected: %v", got)
		}
		return
	}
	if len(got) != 1 {
		t.Fatalf("want one problem that says %q, got %v", says, got)
	}
	for _, s := range says {
		if !strings.Contains(got[0].String(), s) {
			t.Errorf("%q does not say %q", got[0], s)
		}
	}
}

func TestBadArrows(t *testing.T) {
	for _, c := range []struct {
		name, file, imports string
		says                []string
	}{
		{"a leaf that looks up", "refusal/x.go", Module + "/wire", []string{"refusal/x.go", "imports wire", "refusal is a leaf"}},
		{"a leaf with another's library", "id/x.go", "go.yaml.in/yaml/v3", []string{"go.yaml.in/yaml/v3", "id is a leaf"}},
		{"a decider that knows a store", "board/x.go", Module + "/internal/store/sqlite", []string{"internal/store/sqlite", "board decides"}},
		{"a decider that knows control", "machine/x.go", Module + "/internal/control", []string{"internal/control", "machine decides"}},
		{"a decider that knows a sibling", "board/x.go", Module + "/machine", []string{"imports machine"}},
		{"a decider's test with a store", "machine/x_test.go", Module + "/internal/store/memory", []string{"machine/x_test.go", "internal/store/memory"}},
		{"an agent that knows the board", "agent/x.go", Module + "/board", []string{"imports board", "written once"}},
		{"a driver that knows another", "internal/store/memory/x.go", Module + "/internal/store/sqlite", []string{"drivers never see each other"}},
		{"a driver's test that knows another", "internal/store/sqlite/x_test.go", Module + "/internal/store/memory", []string{"drivers never see each other"}},
		{"a driver that knows the writer", "internal/store/sqlite/x.go", Module + "/internal/control", []string{"rules live above it"}},
		{"the pipeline that knows an area", "internal/control/x.go", Module + "/internal/control/boards", []string{"must not know what any area decides"}},
		{"the pipeline that knows a driver", "internal/control/x.go", Module + "/internal/store/sqlite", []string{"nor which database"}},
		{"an area that knows a driver", "internal/control/boards/x.go", Module + "/internal/store/sqlite", []string{"a second home"}},
		{"a program that knows a board", "internal/program/x.go", Module + "/board", []string{"a surface and a summons"}},
		{"somebody inside who goes through the root", "internal/runner/x.go", Module, []string{"imports the root package", "examples/..."}},
		{"an example's agent that looks inside", "examples/incident/agents/lead/x.go", Module + "/internal/program", []string{"nothing inside"}},
		{"a command that goes to the store", "cmd/slate/x.go", Module + "/internal/store/sqlite", []string{"never to a store"}},
		{"SQLite outside its driver", "internal/control/x.go", "zombiezen.com/go/sqlite", []string{"zombiezen.com/go/sqlite", "a package of others"}},
		{"CEL outside the machine", "board/x.go", "cel.dev/cel-go/cel", []string{"cel.dev/cel-go/cel"}},
		{"kong outside the command", "internal/runner/x.go", "github.com/alecthomas/kong", []string{"github.com/alecthomas/kong"}},
		{"a package that nobody has thought of", "internal/thing/x.go", "fmt", []string{"internal/thing: no rule", "rules.go", "ARCHITECTURE.md"}},

		{"a machine on a board", "machine/x.go", Module + "/board", nil},
		{"a driver that passes the suite", "internal/store/sqlite/x_test.go", Module + "/board/boardtest", nil},
		{"a test library in a test", "board/x_test.go", "pgregory.net/rapid", nil},
		{"the standard library", "board/x.go", "net/http", nil},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, Arrows(tree(t, c.file, importing(c.imports)), Rules), c.says...) })
	}
}

// A file for another system has the same arrows.
func TestArrowsOnEverySystem(t *testing.T) {
	for _, name := range []string{"internal/program/x_windows.go", "internal/program/x_plan9.go"} {
		expect(t, Arrows(tree(t, name, "//go:build ignore\n\n"+importing(Module+"/board")), Rules), name)
	}
}

func TestBadComments(t *testing.T) {
	expect(t, Comments(tree(t, "a/x.go", "package a\n")), "a: the package comment has 0 sentences")
	expect(t, Comments(tree(t, "a/x.go", "// Package a is v1.2 of it, e.g.\npackage a\n")), "has 1 sentences")
	expect(t, Comments(tree(t, "a/x.go", "// Package a is it:\n//\n//\tx := 1. // y.\n//\tz. Z.\npackage a\n")), "has 0 sentences")
	expect(t, Comments(tree(t, "a/x.go", good+"package a\n", "a/y.go", good+"package a\n")), "a/y.go", "a second package comment")
	expect(t, Comments(tree(t, "examples/e/x.go", "// Command e is e\npackage main\n")), "at least 1 are due")

	expect(t, Comments(tree(t, "a/x.go", "// Package a is here. It knows nothing\n// (\"at all\").\npackage a\n")))
	expect(t, Comments(tree(t, "examples/e/x.go", "// Command e is e.\npackage main\n")))
	expect(t, Comments(tree(t, "a/x_test.go", "package a\n")))
}

func TestBadSizes(t *testing.T) {
	long := good + "package a\n" + strings.Repeat("\n", MaxLines)
	expect(t, Sizes(tree(t, "a/x.go", long)), "a/x.go: 602 lines", "second idea")
	expect(t, Sizes(tree(t, "a/x_test.go", long)), "a/x_test.go")
	expect(t, Sizes(tree(t, "a/x.go", "// Code generated by x. DO NOT EDIT.\n\n"+long)))
}

func TestBadNames(t *testing.T) {
	expect(t, Names(tree(t, "internal/util/x.go", "package strs\n")), `"util" says nothing`)
	expect(t, Names(tree(t, "internal/x/x.go", "package common\n")), `"common" says nothing`)
	expect(t, Names(tree(t, "helpers/x_test.go", "package helpers_test\n")), `"helpers" says nothing`)
	expect(t, Names(tree(t, "board/helper_test.go", "package board\n")))
}

func TestBadPurity(t *testing.T) {
	for _, c := range []struct {
		name, src string
		says      []string
	}{
		{"the clock", "import \"time\"\nvar now = time.Now()\n", []string{"board/x.go:4", "time.Now", "arrive as arguments"}},
		{"the clock as a value", "import \"time\"\nvar now = time.Now\n", []string{"time.Now"}},
		{"the clock under another name", "import clock \"time\"\nvar now = clock.Since\n", []string{"time.Since"}},
		{"chance", "import _ \"math/rand/v2\"\n", []string{"math/rand/v2"}},
		{"secret chance", "import _ \"crypto/rand\"\n", []string{"crypto/rand"}},
		{"files", "import _ \"os\"\n", []string{"imports os"}},
		{"a goroutine", "func f() { go f() }\n", []string{"starts a goroutine"}},
		{"durations and instants", "import \"time\"\nfunc f(now time.Time) time.Time { return now.Add(time.Second) }\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, Purity(tree(t, "board/x.go", good+"package board\n"+c.src), Rules), c.says...)
			expect(t, Purity(tree(t, "board/x_test.go", good+"package board\n"+c.src), Rules))
			expect(t, Purity(tree(t, "internal/runner/x.go", good+"package runner\n"+c.src), Rules))
		})
	}
}

func TestBadPaths(t *testing.T) {
	for text, bad := range map[string]bool{
		"see /" + "home/ann/x":       true,
		"`/" + "root/x`":             true,
		"data=/" + "Users/ann":       true,
		"in /srv/slate/copy/x":       true, // where this copy lies
		"under /var/lib/x":           false,
		"the docs/" + "home/x page":  false,
		"GET https://x/" + "root/ca": false,
	} {
		got, err := Paths(fstest.MapFS{"docs/x.md": {Data: []byte("one\n" + text + "\n")}}, "/srv/slate/copy")
		if err != nil {
			t.Fatal(err)
		}
		if bad {
			expect(t, got, "docs/x.md:2", "one machine")
		} else {
			expect(t, got)
		}
	}
}

func TestBadDocuments(t *testing.T) {
	const src = good + "package board\ntype State struct{ Row int }\nfunc (s *State) Take() {}\nconst Max = 1\n"
	for _, c := range []struct {
		text string
		says []string
	}{
		{"`board.State`, `board.State.Row`, `board.State.Take()`, `board.Max`", nil},
		{"`board.Stat`", []string{"GLOSSARY.md:2", "board.Stat, which no package board declares"}},
		{"`board.State.Gone`", []string{"board.State.Gone"}},
		{"`time.Now` and `other.Thing`", nil},
		{"`board/state.go` and `board/` and `board/...`", nil},
		{"`board/gone.go`", []string{"board/gone.go, which is not there"}},
		{"`bin/slate run`, `either/or`", nil},
		{"[the rules](board/state.go#L1), [out](https://example.org/x), [here](#top)", nil},
		{"[gone](docs/gone.md)", []string{"links to docs/gone.md"}},
		{"```\n`board.Gone`\n```", nil},
	} {
		tr := tree(t, "board/state.go", src)
		tr.FS.(fstest.MapFS)["GLOSSARY.md"] = &fstest.MapFile{Data: []byte("# Words\n" + c.text + "\n")}
		got, err := Documents(tr, "GLOSSARY.md")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, c.says...)
	}
}
