package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
)

// callCmd is the method table as a command: what has no verb of its own here can
// still be called.
type callCmd struct {
	storeFlags
	Method string `arg:"" optional:"" help:"The method, such as board.writeLevel. Left out, the methods are listed."`
	Body   string `arg:"" optional:"" help:"The body, as JSON; - reads standard input. Left out, an empty one."`
	Board  string `help:"The board that the method acts on." placeholder:"NAME"`
	As     string `default:"application" help:"On whose behalf." placeholder:"NAME"`
	Schema bool   `help:"Print the JSON Schemas of the method's body and answer instead of calling it."`
}

func (c *callCmd) Run(a *app) error {
	if c.Method == "" || c.Schema {
		// The table is the same whatever the store.
		sys, err := slate.Memory(a.ctx, slate.Options{})
		if err != nil {
			return err
		}
		defer sys.Close()
		return c.describe(a, sys.Methods())
	}
	body := []byte(c.Body)
	if c.Body == "-" {
		var err error
		if body, err = io.ReadAll(a.stdin); err != nil {
			return err
		}
	}
	return c.with(a, func(sys *slate.System) error {
		answer, err := sys.Call(a.ctx, c.As, c.Method, id.Board(c.Board), body)
		if err != nil {
			return err
		}
		b := *a
		b.json = true
		return b.print(answer, nil)
	})
}

// describe lists the methods, or tells one's schemas.
func (c *callCmd) describe(a *app, methods []*control.Method) error {
	if c.Method != "" {
		for _, m := range methods {
			if m.Name == c.Method {
				b := *a
				b.json = true
				return b.print(map[string]any{"method": m, "body": m.RequestSchema(), "answer": m.AnswerSchema()}, nil)
			}
		}
		return badInput("there is no method %q (slate call lists them)", c.Method)
	}
	tw := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	for _, m := range methods {
		err := a.print(m, func(io.Writer) error {
			where := ""
			if m.OnBoard {
				where = "--board"
			}
			_, err := fmt.Fprintf(tw, "%s\t%s\t%s\n", m.Name, where, m.Summary)
			return err
		})
		if err != nil {
			return err
		}
	}
	return tw.Flush()
}
