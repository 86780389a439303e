package archtest

import (
	"bytes"
	"fmt"
	"go/doc/comment"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// docOf is a comment of one block.
func docOf(b comment.Block) *comment.Doc { return &comment.Doc{Content: []comment.Block{b}} }

// written are the endings of files that people write.
var written = []string{".go", ".md", ".sh", ".py", ".sql", ".yaml", ".yml", ".json", ".mod", ".txtar", ".conf", "Makefile", "run"}

// homes are where the files of one person's machine lie.
var homes = regexp.MustCompile("(?:^|[\\s\"'(=:`])/(?:home|root|Users)/\\w")

// Paths finds text that names a place on one particular machine. own are further
// such places, such as where this copy of the project lies.
func Paths(fsys fs.FS, own ...string) ([]Problem, error) {
	var out []Problem
	err := walk(fsys, func(name string) error {
		if !slices.ContainsFunc(written, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			found := homes.Find(line) != nil
			for _, place := range own {
				found = found || bytes.Contains(line, []byte(place+"/"))
			}
			if found {
				out = append(out, Problem{fmt.Sprintf("%s:%d", name, i+1), "names a path of one machine: say it from the project's root, or with a placeholder"})
			}
		}
		return nil
	})
	return out, err
}

// quoted is what a document sets as code, and linked where it links to.
var (
	quoted = regexp.MustCompile("`([^`\n]+)`")
	linked = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// identifier is a name of a package of ours with what follows it.
	identifier = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?(?:\(\))?$`)
	fence      = regexp.MustCompile("(?ms)^```.*?^```$")
)

// Documents holds what documents set as code to the source: a file or folder of the
// project that is not there, and a package.Name that no package of that name
// declares. Links to files are followed too.
func Documents(t *Tree, names ...string) ([]Problem, error) {
	declared := t.declared()
	var out []Problem
	for _, name := range names {
		data, err := fs.ReadFile(t.FS, name)
		if err != nil {
			return nil, err
		}
		text := fence.ReplaceAllStringFunc(string(data), func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
		for i, line := range strings.Split(text, "\n") {
			where := fmt.Sprintf("%s:%d", name, i+1)
			for _, m := range linked.FindAllStringSubmatch(line, -1) {
				target, _, _ := strings.Cut(m[1], "#")
				if target == "" || strings.Contains(target, "://") {
					continue
				}
				if !exists(t.FS, path.Join(path.Dir(name), target)) {
					out = append(out, Problem{where, "links to " + target + ", which is not there"})
				}
			}
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				if what := t.wrong(m[1], declared); what != "" {
					out = append(out, Problem{where, what})
				}
			}
		}
	}
	return out, nil
}

// wrong says what is wrong with a piece of code in a document, or nothing.
func (t *Tree) wrong(code string, declared map[string]map[string]bool) string {
	if m := identifier.FindStringSubmatch(code); m != nil {
		names, ours := declared[m[1]]
		if !ours {
			return ""
		}
		full := m[2]
		if m[3] != "" {
			full += "." + m[3]
		}
		if !names[full] {
			return fmt.Sprintf("names %s.%s, which no package %s declares", m[1], full, m[1])
		}
		return ""
	}
	first, _, below := strings.Cut(code, "/")
	if !below || strings.ContainsAny(code, " *<>{}$…") || strings.HasPrefix(first, "-") {
		return ""
	}
	if place := strings.TrimSuffix(strings.TrimSuffix(code, "/..."), "/"); exists(t.FS, first) && !exists(t.FS, strings.TrimPrefix(place, "./")) {
		return "names " + code + ", which is not there"
	}
	return ""
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, path.Clean(name))
	return err == nil
}
