// Package roster reads agents.yaml: which program answers for which agent of a
// machine. It is strict: what it does not know is an error that names the line.
//
// It starts nothing and must not know machines, boards or stores.
package roster

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Schema is the JSON Schema (draft-07) of an agents.yaml.
//
//go:embed schema.json
var Schema []byte

// Agent is one agent's program.
type Agent struct {
	Name string
	// Command is the program and its arguments. One with a slash is looked for in
	// Dir, which is the folder of the file unless the file says otherwise.
	Command []string
	Dir     string
	// Env are NAME=value pairs, sorted by name.
	Env []string
	// Timeout is how long one summons may take; 0 when the file does not say.
	Timeout time.Duration
	// Line is where the file declares the agent.
	Line int
}

// Error lists everything wrong with a file, in order of line.
type Error struct{ Problems []string }

func (e *Error) Error() string { return strings.Join(e.Problems, "\n") }

// maxFile is the largest agents.yaml, in bytes.
const maxFile = 1 << 20

// Load reads the file at path. lookup finds the caller's environment variables, for
// ${NAME} and ${NAME:-default} in env values.
func Load(path string, lookup func(string) (string, bool)) ([]Agent, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, &Error{[]string{fmt.Sprintf("%s: the file has %d bytes, the limit is %d", path, info.Size(), maxFile)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, lookup)
}

// Parse reads the text of an agents.yaml. path names it in errors and gives the
// folder that commands are run in.
func Parse(path string, data []byte, lookup func(string) (string, bool)) ([]Agent, error) {
	p := &parser{file: path, dir: filepath.Dir(path), lookup: lookup}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&doc)
	switch {
	case err == io.EOF || err == nil && len(doc.Content) == 0:
		return nil, &Error{[]string{path + ": the file is empty: it needs agents: with one entry an agent"}}
	case err != nil:
		return nil, &Error{[]string{syntax(path, err)}}
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		p.wrong(&second, "a second document begins: the file holds one")
	case err != io.EOF:
		return nil, &Error{[]string{syntax(path, err)}}
	}
	var out []Agent
	p.mapping(doc.Content[0], "the file", func(key, value *yaml.Node) {
		if key.Value != "agents" {
			p.wrong(key, "unknown key %q: the file has one key, agents", key.Value)
			return
		}
		p.mapping(value, "agents", func(name, body *yaml.Node) { out = append(out, p.agent(name, body)) })
	})
	if len(p.problems) == 0 && len(out) == 0 {
		p.wrong(doc.Content[0], "no agent is declared")
	}
	if len(p.problems) > 0 {
		sort.SliceStable(p.problems, func(i, j int) bool { return p.problems[i].line < p.problems[j].line })
		e := &Error{}
		for _, pr := range p.problems {
			e.Problems = append(e.Problems, pr.text)
		}
		return nil, e
	}
	return out, nil
}

// syntax is the parser's error in the form of the others: file, line, problem.
func syntax(path string, err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		return path + ":" + rest
	}
	return path + ": " + text
}

type problem struct {
	line int
	text string
}

type parser struct {
	file, dir string
	lookup    func(string) (string, bool)
	problems  []problem
}

func (p *parser) wrong(n *yaml.Node, format string, args ...any) {
	p.problems = append(p.problems, problem{n.Line, fmt.Sprintf("%s:%d: %s", p.file, n.Line, fmt.Sprintf(format, args...))})
}

// mapping visits the pairs of a mapping, each key once.
func (p *parser) mapping(n *yaml.Node, what string, visit func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.wrong(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			p.wrong(key, "a key of %s must be a plain name", what)
			continue
		}
		if line, twice := seen[key.Value]; twice {
			p.wrong(key, "%s has %q twice (first at line %d)", what, key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		visit(key, n.Content[i+1])
	}
}

func (p *parser) agent(name, body *yaml.Node) Agent {
	a := Agent{Name: name.Value, Dir: p.dir, Line: name.Line}
	what := "agent " + name.Value
	asked := false
	p.mapping(body, what, func(key, value *yaml.Node) {
		switch key.Value {
		case "command":
			asked = true
			a.Command = p.command(value, what)
		case "dir":
			if dir := p.text(value, what+": dir"); filepath.IsAbs(dir) {
				a.Dir = dir
			} else {
				a.Dir = filepath.Join(p.dir, dir)
			}
		case "env":
			a.Env = p.env(value, what)
		case "timeout":
			text, ok := p.scalar(value, what+": timeout")
			d, err := time.ParseDuration(text)
			if ok && (err != nil || d <= 0) {
				p.wrong(value, "%s: timeout %q is no positive duration (write 30s or 2m)", what, value.Value)
			}
			a.Timeout = d
		default:
			p.wrong(key, "%s: unknown key %q (it takes command, dir, env, timeout)", what, key.Value)
		}
	})
	if body.Kind == yaml.MappingNode && !asked {
		p.wrong(name, "%s: command is missing: the program and its arguments, as a list", what)
	}
	return a
}

// text is a scalar that a program can be given.
func (p *parser) text(n *yaml.Node, what string) string {
	text, _ := p.scalar(n, what)
	return text
}

func (p *parser) scalar(n *yaml.Node, what string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		p.wrong(n, "%s must be a text", what)
	case strings.ContainsRune(n.Value, 0):
		p.wrong(n, "%s has a NUL character, which no program can be given", what)
	default:
		return n.Value, true
	}
	return "", false
}

func (p *parser) command(n *yaml.Node, what string) []string {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.wrong(n, "%s: command must be a list: the program, then its arguments", what)
		return nil
	}
	var out []string
	for i, item := range n.Content {
		text, ok := p.scalar(item, what+": command")
		if i == 0 && ok && text == "" {
			p.wrong(n, "%s: command names no program", what)
		}
		out = append(out, text)
	}
	return out
}

func (p *parser) env(n *yaml.Node, what string) []string {
	var out []string
	p.mapping(n, what+": env", func(key, value *yaml.Node) {
		if key.Value == "" || strings.ContainsAny(key.Value, "=\x00") {
			p.wrong(key, "%s: env: %q is no name of a variable", what, key.Value)
			return
		}
		text, err := expand(p.text(value, what+": env: "+key.Value), p.lookup)
		if err != nil {
			p.wrong(value, "%s: env: %s: %v", what, key.Value, err)
			return
		}
		out = append(out, key.Value+"="+text)
	})
	sort.Strings(out)
	return out
}

// expand replaces ${NAME} and ${NAME:-default} by the caller's variables; $$ stands
// for a dollar sign.
func expand(s string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		switch {
		case strings.HasPrefix(s, "$"):
			b.WriteByte('$')
			s = s[1:]
		case strings.HasPrefix(s, "{"):
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return "", fmt.Errorf("${ without a closing brace")
			}
			name, fallback, has := strings.Cut(s[1:end], ":-")
			value, set := lookup(name)
			switch {
			case set && (value != "" || !has):
			case has:
				value = fallback
			default:
				return "", fmt.Errorf("${%s} is not set in the environment (set it, or give a default with ${%s:-default})", name, name)
			}
			b.WriteString(value)
			s = s[end+1:]
		default:
			b.WriteByte('$')
		}
	}
}
