package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/draw"
	"github.com/slate-agents/slate/internal/roster"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

type machineCmd struct {
	Check   machineCheckCmd   `cmd:"" help:"Check a machine's document, and list everything wrong with it."`
	Graph   machineGraphCmd   `cmd:"" help:"Draw a machine, or what a run of it did."`
	Schema  machineSchemaCmd  `cmd:"" help:"Print a JSON Schema that an editor can use."`
	Replay  machineReplayCmd  `cmd:"" help:"Show a run as it stood at a position; with --verify, decide it all again and compare."`
	Diff    machineDiffCmd    `cmd:"" help:"Show what changed in a run between two positions."`
	Migrate machineMigrateCmd `cmd:"" help:"Move a run to another document after checking its state and fields."`
}

type machineCheckCmd struct {
	File string `arg:"" help:"The machine's YAML file, or its folder."`
}

func (c *machineCheckCmd) Run(a *app) error {
	file, err := machineFile(c.File)
	if err != nil {
		return err
	}
	def, err := loadMachine(file)
	if err != nil {
		return err
	}
	v := struct {
		File    string    `json:"file"`
		Name    string    `json:"name"`
		Version int       `json:"version"`
		Digest  id.Digest `json:"digest"`
		Fields  int       `json:"fields"`
		Agents  int       `json:"agents"`
		States  int       `json:"states"`
	}{file, def.Name, def.Version, def.Digest(), len(def.Fields), len(def.Agents), len(def.States)}
	return a.print(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: machine %s version %d is good: %d fields, %d agents, %d states, digest %.12s\n",
			v.File, v.Name, v.Version, v.Fields, v.Agents, v.States, v.Digest)
		return err
	})
}

type machineGraphCmd struct {
	File   string `arg:"" optional:"" help:"The machine's YAML file, or its folder."`
	Board  string `help:"Draw the run on this board instead: how often each transition fired, and where it stands." placeholder:"NAME"`
	Format string `short:"f" enum:"svg,mermaid,dot" default:"svg" help:"svg, mermaid or dot."`
	Out    string `help:"The file to write. Default: standard output." placeholder:"FILE"`
	Events bool   `help:"With --board: draw the run's timeline instead of its states."`
	storeFlags
}

func (c *machineGraphCmd) Run(a *app) error {
	var buf bytes.Buffer
	switch {
	case (c.File == "") == (c.Board == ""):
		return badInput("graph: name a machine's file, or a run's board with --board")
	case c.Events && (c.Board == "" || c.Format != "svg"):
		return badInput("graph: --events draws the run of a --board, as svg")
	case c.Board == "":
		file, err := machineFile(c.File)
		if err != nil {
			return err
		}
		def, err := loadMachine(file)
		if err != nil {
			return err
		}
		if err := c.draw(a, &buf, def.Graph()); err != nil {
			return err
		}
	default:
		err := c.with(a, func(sys *slate.System) error {
			b := sys.Board(id.Board(c.Board))
			run, err := b.Replay(a.ctx, 0)
			if err != nil {
				return err
			}
			if !c.Events {
				return c.draw(a, &buf, run.Graph())
			}
			var events []slate.Event
			err = b.Timeline(a.ctx, func(e slate.Event) error { events = append(events, e); return nil })
			if err != nil {
				return err
			}
			title := fmt.Sprintf("%s on board %s", run.Definition().Name, c.Board)
			return draw.Timeline(&buf, timeline.Story(title, events))
		})
		if err != nil {
			return err
		}
	}
	if c.Out == "" {
		_, err := a.stdout.Write(buf.Bytes())
		return err
	}
	if err := os.WriteFile(c.Out, buf.Bytes(), 0o644); err != nil {
		return badInput("%s: %w", c.Out, cause(err))
	}
	return nil
}

// draw writes a graph in the format asked for; with -o json, as data.
func (c *machineGraphCmd) draw(a *app, w io.Writer, g wire.Graph) error {
	if a.json {
		b := *a
		b.stdout = w
		return b.print(g, nil)
	}
	switch c.Format {
	case "mermaid":
		return draw.Mermaid(w, g)
	case "dot":
		return draw.DOT(w, g)
	}
	return draw.SVG(w, g)
}

type machineSchemaCmd struct {
	Of string `arg:"" optional:"" enum:"machine,agents" default:"machine" help:"machine (the document) or agents (agents.yaml)."`
}

func (c *machineSchemaCmd) Run(a *app) error {
	schema := machine.Schema()
	if c.Of == "agents" {
		schema = roster.Schema
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n", bytes.TrimSpace(schema))
	return err
}

type machineReplayCmd struct {
	storeFlags
	Board  string `arg:"" help:"The run's board."`
	At     int64  `help:"The position; 0 means the head." default:"0"`
	Verify bool   `help:"Start from the contributions alone, evaluate every guard again, and fail on the first difference from the record."`
}

func (c *machineReplayCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		b := sys.Board(id.Board(c.Board))
		if c.Verify {
			if c.At != 0 {
				return badInput("replay: --verify looks at the whole record and takes no --at")
			}
			v, err := b.Verify(a.ctx)
			if err != nil {
				return err
			}
			return a.print(v, func(w io.Writer) error {
				fmt.Fprintf(w, "verified: %d entries follow from %d contributions and %d guard evaluations, through position %d\n",
					v.Entries, v.Contributions, v.Guards, v.Through)
				if v.Erased > 0 {
					fmt.Fprintf(w, "the contribution at position %d was erased: what follows it cannot be decided again\n", v.Erased)
				}
				return nil
			})
		}
		v, err := b.State(a.ctx, id.Seq(c.At))
		if err != nil {
			return err
		}
		return a.print(v, func(w io.Writer) error {
			fmt.Fprintf(w, "board %s at position %d: state %s, entry %d\n", v.Board, v.Position, v.State, v.Entry)
			if v.Ended != nil {
				fmt.Fprintf(w, "ended: %s\n", v.Ended.Reason)
			}
			return printContext(w, v.Context)
		})
	})
}

type machineDiffCmd struct {
	storeFlags
	Board string `arg:"" help:"The run's board."`
	From  int64  `arg:"" help:"The earlier position."`
	To    int64  `arg:"" optional:"" help:"The later position. Default: the head."`
}

func (c *machineDiffCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		b := sys.Board(id.Board(c.Board))
		changes, err := b.Diff(a.ctx, wire.Between{From: id.Seq(c.From), To: id.Seq(c.To)})
		if err != nil {
			return err
		}
		for _, d := range changes {
			err := a.print(d, func(w io.Writer) error {
				what := d.What
				if d.Field != "" {
					what += " " + d.Field
				}
				if d.Key != "" {
					what += "[" + d.Key + "]"
				}
				if d.Before != nil {
					what += "  - " + plain(d.Before)
				}
				if d.After != nil {
					what += "  + " + plain(d.After)
				}
				if d.Writer != "" {
					what += fmt.Sprintf("  (%s, position %d)", d.Writer, d.Seq)
				}
				_, err := fmt.Fprintln(w, what)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type machineMigrateCmd struct {
	storeFlags
	Board string `arg:"" help:"The run's board."`
	File  string `arg:"" help:"The new document, or its folder."`
}

func (c *machineMigrateCmd) Run(a *app) error {
	file, err := machineFile(c.File)
	if err != nil {
		return err
	}
	def, err := loadMachine(file)
	if err != nil {
		return err
	}
	return c.with(a, func(sys *slate.System) error {
		standing, err := sys.Board(id.Board(c.Board)).Migrate(a.ctx, def)
		if err != nil {
			return err
		}
		return a.print(standing, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "board %s runs machine %s version %d from position %d, in state %s\n",
				c.Board, def.Name, def.Version, standing.Position, standing.State)
			return err
		})
	})
}
