package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

type boardCmd struct {
	List    boardListCmd    `cmd:"" help:"List the boards."`
	Show    boardShowCmd    `cmd:"" help:"Show a board: regions, run, agents, outcome; a machine's context too."`
	Read    boardReadCmd    `cmd:"" help:"Read a region: a level's contributions, or a premise."`
	Changes boardChangesCmd `cmd:"" help:"List everything written after a cursor, in order."`
	Tail    boardTailCmd    `cmd:"" help:"Follow a board: a machine's timeline, or the entries of any board."`
	Write   boardWriteCmd   `cmd:"" help:"Write to a level, or to a premise with --expect."`
	Erase   boardEraseCmd   `cmd:"" help:"Erase the content of entries for good. Positions, digests and tombstones stay."`
	Abort   boardAbortCmd   `cmd:"" help:"End a board's run."`
	Delete  boardDeleteCmd  `cmd:"" help:"Delete a board with its record."`
}

type boardListCmd struct{ storeFlags }

func (c *boardListCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		tw := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
		page := wire.Page{Limit: wire.MaxPage}
		for {
			list, err := sys.Boards(a.ctx, page)
			if err != nil {
				return err
			}
			for _, b := range list.Boards {
				err := a.print(b, func(io.Writer) error {
					_, err := fmt.Fprintf(tw, "%s\t%d entries\t%s\tlast %s\n", b.Board, b.Head, standing(b), b.Latest.Format(time.RFC3339))
					return err
				})
				if err != nil {
					return err
				}
			}
			if page.Cursor = list.Next; list.Next == "" {
				return tw.Flush()
			}
		}
	})
}

// standing says in a few words whether a board's run is open.
func standing(b wire.BoardState) string {
	switch {
	case b.Run != nil:
		return fmt.Sprintf("run %d open", b.Run.Number)
	case b.Outcome != nil:
		return outcome(b.Outcome)
	case b.Runs > 0:
		return fmt.Sprintf("run %d closed", b.Runs)
	}
	return "no run"
}

func outcome(o *wire.Outcome) string {
	text := fmt.Sprintf("run %d %s", o.Run, strings.ReplaceAll(string(o.Kind), "_", " "))
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	if len(o.Unfinished) > 0 {
		text += "; unfinished: " + refusal.List(o.Unfinished)
	}
	return text
}

type boardShowCmd struct {
	storeFlags
	Board string `arg:"" help:"The board."`
}

func (c *boardShowCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		state, err := sys.Board(id.Board(c.Board)).Show(a.ctx)
		if err != nil {
			return err
		}
		shown := struct {
			wire.BoardState
			Machine *wire.MachineState `json:"machine,omitempty"`
		}{BoardState: state}
		run, err := sys.Board(id.Board(c.Board)).State(a.ctx, 0)
		switch {
		case err == nil:
			shown.Machine = &run
		case refusal.CodeOf(err) != refusal.NoMachine:
			return err
		}
		return a.print(shown, func(w io.Writer) error {
			fmt.Fprintf(w, "board %s: %d entries, %s\n", state.Board, state.Head, standing(state))
			if shown.Machine != nil {
				fmt.Fprintf(w, "machine %s in state %s\n", run.Machine, run.State)
			}
			tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
			fmt.Fprintln(tw, "\nregion\tkind\twrites\tlast\tversion")
			for _, r := range state.Regions {
				fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\n", r.Name, r.Kind, r.Count, r.Last, version(r))
			}
			if state.Run != nil && len(state.Run.Agents) > 0 {
				fmt.Fprintln(tw, "\nagent\ttold\tacknowledged\tpending")
				for _, ag := range state.Run.Agents {
					fmt.Fprintf(tw, "%s\t%d\t%d\t%t\n", ag.Name, ag.Told, ag.Cursor, ag.Pending)
				}
			}
			if err := tw.Flush(); err != nil {
				return err
			}
			return printContext(w, run.Context)
		})
	})
}

func version(r wire.Region) string {
	if r.Kind == wire.Premise {
		return fmt.Sprint(r.Version)
	}
	return "-"
}

type boardReadCmd struct {
	storeFlags
	Board  string `arg:"" help:"The board."`
	Region string `arg:"" help:"The region."`
	pageFlags
}

// pageFlags limit a listing.
type pageFlags struct {
	After string `help:"Continue after this cursor (the next of a page before)." placeholder:"CURSOR"`
	Limit int    `help:"Stop after this many entries; 0 means all." default:"0"`
}

// each calls visit for the entries that the flags ask for and returns the cursor
// after the last.
func (p pageFlags) each(ctx context.Context, read func(wire.Page) (wire.Entries, error), visit func(wire.Entry) error) (string, error) {
	page := wire.Page{Cursor: p.After}
	left := p.Limit
	for {
		page.Limit = wire.MaxPage
		if p.Limit > 0 {
			page.Limit = min(left, wire.MaxPage)
		}
		out, err := read(page)
		if err != nil {
			return "", err
		}
		for _, e := range out.Entries {
			if err := visit(e); err != nil {
				return "", err
			}
		}
		left -= len(out.Entries)
		page.Cursor = out.Next
		if !out.More || (p.Limit > 0 && left <= 0) {
			return out.Next, nil
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
}

func (c *boardReadCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		b := sys.Board(id.Board(c.Board))
		_, err := c.each(a.ctx, func(p wire.Page) (wire.Entries, error) { return b.Level(a.ctx, c.Region, p) }, a.entry)
		if refusal.CodeOf(err) != refusal.WrongKind {
			return err
		}
		p, err := b.Premise(a.ctx, c.Region)
		if err != nil {
			return err
		}
		return a.print(p, func(w io.Writer) error {
			value := "no value"
			switch {
			case p.Erased != nil:
				value = "erased by " + p.Erased.By
			case p.Value != nil:
				value = plain(p.Value)
			}
			_, err := fmt.Fprintf(w, "%s version %d: %s\n", p.Region, p.Version, value)
			return err
		})
	})
}

// entry prints one entry of the record.
func (a *app) entry(e wire.Entry) error {
	return a.print(e, func(w io.Writer) error {
		content := plain(e.Content)
		switch {
		case e.Erased != nil:
			content = fmt.Sprintf("[erased %s by %s]", e.Erased.At.Format(time.RFC3339), e.Erased.By)
		case e.Content == nil:
			content = "[cleared]"
		}
		at := ""
		if !e.At.IsZero() {
			at = e.At.Format("15:04:05.000")
		}
		_, err := fmt.Fprintf(w, "%5d  %s  %-16s %-14s %s\n", e.Seq, at, e.Region, e.Writer, strings.ReplaceAll(content, "\n", " "))
		return err
	})
}

type boardChangesCmd struct {
	storeFlags
	Board string `arg:"" help:"The board."`
	pageFlags
}

func (c *boardChangesCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		b := sys.Board(id.Board(c.Board))
		next, err := c.each(a.ctx, func(p wire.Page) (wire.Entries, error) { return b.Changes(a.ctx, p) }, a.entry)
		if err != nil {
			return err
		}
		return a.print(map[string]string{"next": next}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "next: --after %s\n", next)
			return err
		})
	})
}

type boardTailCmd struct {
	storeFlags
	Board  string `arg:"" help:"The board."`
	Follow bool   `short:"f" help:"Wait for more until interrupted, or until a machine's run has ended."`
}

// pollEvery is how often a followed board is read again: another process writes it,
// and a file tells nobody.
const pollEvery = 200 * time.Millisecond

func (c *boardTailCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		b := sys.Board(id.Board(c.Board))
		state, err := b.Show(a.ctx)
		if err != nil {
			return err
		}
		wait := func() bool { return false }
		if c.Follow {
			wait = func() bool {
				select {
				case <-a.ctx.Done():
					return false
				case <-time.After(pollEvery):
					return true
				}
			}
		}
		for _, r := range state.Regions {
			if r.Name == machine.JournalRegion {
				return c.timeline(a, b, wait)
			}
		}
		return c.entries(a, b, wait)
	})
}

// timeline tells a machine's run.
func (c *boardTailCmd) timeline(a *app, b *slate.Board, wait func() bool) error {
	out, ended := newTimeline(a), false
	return b.Follow(a.ctx, func(e timeline.Event) error {
		out.event(e)
		ended = ended || e.Kind == timeline.Ended
		return nil
	}, func() bool { return !ended && wait() })
}

// entries prints the record of a board without a machine.
func (c *boardTailCmd) entries(a *app, b *slate.Board, wait func() bool) error {
	flags := pageFlags{}
	for {
		next, err := flags.each(a.ctx, func(p wire.Page) (wire.Entries, error) { return b.Changes(a.ctx, p) }, a.entry)
		if err != nil || !wait() {
			return err
		}
		flags.After = next
	}
}

type boardWriteCmd struct {
	storeFlags
	Board   string `arg:"" help:"The board."`
	Region  string `arg:"" help:"The region."`
	Content string `arg:"" optional:"" help:"The content, as JSON; - reads standard input. Left out, with --expect, the premise is cleared."`
	Writer  string `required:"" help:"Who writes." placeholder:"NAME"`
	Expect  *int64 `help:"The version of the premise that the write replaces." placeholder:"VERSION"`
	Key     string `help:"The idempotency key: the write is made once." placeholder:"KEY"`
}

func (c *boardWriteCmd) Run(a *app) error {
	content := json.RawMessage(c.Content)
	if c.Content == "-" {
		data, err := io.ReadAll(io.LimitReader(a.stdin, int64(wire.DefaultLimits.Bytes)+1))
		if err != nil {
			return err
		}
		content = data
	}
	if c.Content == "" {
		content = nil
		if c.Expect == nil {
			return badInput("write: the content is missing (a JSON value, or - for standard input)")
		}
	}
	return c.with(a, func(sys *slate.System) error {
		b := sys.Board(id.Board(c.Board))
		var res wire.Result
		var err error
		if c.Expect == nil {
			res, err = b.WriteLevel(a.ctx, c.Writer, wire.LevelWrite{Region: c.Region, Content: content, Key: c.Key})
		} else {
			res, err = b.WritePremise(a.ctx, c.Writer, wire.PremiseWrite{Region: c.Region, Expect: id.Version(*c.Expect), Content: content, Key: c.Key})
		}
		if err != nil {
			return err
		}
		if r := res.Refusal(); r != nil {
			return r
		}
		return a.print(res, func(w io.Writer) error {
			text := fmt.Sprintf("written at position %d", res.Written.Seq)
			if res.Written.Repeated {
				text = fmt.Sprintf("written before, at position %d", res.Written.Seq)
			}
			if res.Written.Differs {
				text += ", with other content: nothing was added"
			}
			_, err := fmt.Fprintln(w, text)
			return err
		})
	})
}

type boardEraseCmd struct {
	storeFlags
	Board  string  `arg:"" help:"The board."`
	Seqs   []int64 `arg:"" help:"The positions of the entries."`
	By     string  `required:"" help:"Who erases." placeholder:"NAME"`
	Reason string  `help:"Why." placeholder:"TEXT"`
}

func (c *boardEraseCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		e := wire.Erase{Reason: c.Reason}
		for _, s := range c.Seqs {
			e.Seqs = append(e.Seqs, id.Seq(s))
		}
		n, err := sys.Board(id.Board(c.Board)).Erase(a.ctx, c.By, e)
		if err != nil {
			return err
		}
		return a.print(map[string]int{"erased": n}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "erased %d of %d entries\n", n, len(c.Seqs))
			return err
		})
	})
}

type boardAbortCmd struct {
	storeFlags
	Board  string `arg:"" help:"The board."`
	By     string `required:"" help:"Who ends the run." placeholder:"NAME"`
	Reason string `required:"" help:"Why." placeholder:"TEXT"`
}

func (c *boardAbortCmd) Run(a *app) error {
	return c.with(a, func(sys *slate.System) error {
		o, err := sys.Board(id.Board(c.Board)).Abort(a.ctx, c.By, c.Reason)
		if err != nil {
			return err
		}
		return a.print(o, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, outcome(&o))
			return err
		})
	})
}

type boardDeleteCmd struct {
	storeFlags
	Board string `arg:"" help:"The board."`
	Yes   bool   `help:"Say that you mean it: nothing of the board can be read again."`
}

func (c *boardDeleteCmd) Run(a *app) error {
	if !c.Yes {
		return badInput("delete removes board %q with its whole record; say --yes if you mean it", c.Board)
	}
	return c.with(a, func(sys *slate.System) error {
		if err := sys.Board(id.Board(c.Board)).Delete(a.ctx); err != nil {
			return err
		}
		return a.print(map[string]string{"deleted": c.Board}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "deleted board %s\n", c.Board)
			return err
		})
	})
}
