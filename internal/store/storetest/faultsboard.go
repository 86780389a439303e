package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// theBoard is the board of every scenario.
const theBoard id.Board = "case"

var bg = context.Background()

// scenarios is the one table of what is tried with faults. An area that adds
// operations to the contract adds its calls here.
var scenarios = append(boardScenarios(), machineScenarios()...)

// opened makes the board with two agents, a level and two premises.
func opened(p *process) {
	_, err := p.boards.Create(bg, p.by("maker"), wire.CreateBoard{Board: theBoard,
		Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level, Window: time.Second}, {Name: "goal", Kind: wire.Premise}, {Name: "plan", Kind: wire.Premise}},
		Agents:  []wire.AgentDecl{{Name: "ann", Address: "there"}, {Name: "bob", SubscribesTo: wire.Only("notes", "goal"), WritesTo: wire.Only()}},
		Opening: []wire.Opening{{Region: "goal", Content: []byte(`"find it"`)}},
		Limits:  wire.RunLimits{Idle: time.Hour, WallClock: 2 * time.Hour}}, board.Callables{})
	p.must(err)
}

// told makes the board and lets both agents be told of its opening value.
func told(p *process) {
	opened(p)
	p.listen()
	p.boards.Relay(bg, p.ref())
}

func (p *process) ref() id.Ref { return id.Ref{Tenant: p.tenant, Board: theBoard} }

// listen gives the process both agents' callables.
func (p *process) listen() {
	hear := func(context.Context, wire.Notification) error {
		if p.st.Dead() {
			return errors.New("nobody is there")
		}
		return nil
	}
	p.boards.Use(p.ref(), board.Callables{Notify: map[string]board.Notifier{"ann": hear, "bob": hear}})
}

// result is the error of a write: a conflict or rejection is one.
func result(r wire.Result, err error) error {
	if err != nil {
		return err
	}
	if no := r.Refusal(); no != nil {
		return no
	}
	return nil
}

func level(p *process, key string, blobs ...id.Digest) error {
	return result(p.boards.WriteLevel(bg, p.by("carl"), theBoard,
		wire.LevelWrite{Region: "notes", Content: []byte(`{"n": 1}`), Key: key, Blobs: blobs}))
}

func premise(p *process, expect id.Version, key string) error {
	return result(p.boards.WritePremise(bg, p.by("carl"), theBoard,
		wire.PremiseWrite{Region: "goal", Expect: expect, Content: []byte(`"again"`), Key: key}))
}

// collect is a call that removes the blobs nothing refers to.
type collect struct{ before time.Time }

func (collect) Wants() []board.Want { return nil }

func (c collect) Decide(t *control.Turn) (any, error) {
	t.CollectBlobs(c.before)
	return nil, nil
}

// wantClosed turns about what a write on a closed run comes to.
func wantClosed(err error) error {
	switch code := refusal.CodeOf(err); {
	case err == nil:
		return errors.New("the run is open")
	case code == refusal.RunClosed:
		return nil
	}
	return err
}

func boardScenarios() []scenario {
	nothing := func(*process) {}
	return []scenario{
		{area: "board", name: "create", prepare: nothing, again: []refusal.Code{refusal.RegionExists}, call: func(p *process) error {
			_, err := p.boards.Create(bg, p.by("maker"), wire.CreateBoard{Board: theBoard,
				Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}, {Name: "goal", Kind: wire.Premise}},
				Agents:  []wire.AgentDecl{{Name: "ann"}, {Name: "bob"}},
				Opening: []wire.Opening{{Region: "goal", Content: []byte(`"find it"`)}},
				Limits:  wire.RunLimits{Idle: time.Hour}}, board.Callables{})
			return err
		}},
		{area: "board", name: "write a level", prepare: opened, call: func(p *process) error { return level(p, "k") }},
		{area: "board", name: "write a premise", prepare: opened, call: func(p *process) error { return premise(p, 1, "k") }},
		{area: "board", name: "a premise conflict", prepare: opened, reads: true, call: func(p *process) error {
			err := premise(p, 5, "k")
			switch {
			case err == nil:
				return errors.New("version 5 was there")
			case refusal.CodeOf(err) == refusal.Conflict:
				return nil
			}
			return err
		}},
		{area: "board", name: "repeat a key", reads: true, call: func(p *process) error { return level(p, "k") },
			prepare: func(p *process) { opened(p); p.must(level(p, "k")) }},
		{area: "board", name: "refer to a blob", call: func(p *process) error { return level(p, "k", p.digest) },
			prepare: func(p *process) { opened(p); putBlob(p) }},
		{area: "board", name: "register", prepare: opened, call: func(p *process) error {
			_, err := p.boards.Register(bg, p.by("dora"), theBoard, wire.AgentDecl{Name: "dora", SubscribesTo: wire.Only("notes")})
			return err
		}},
		{area: "board", name: "claim, send and settle", prepare: opened, silent: true, later: time.Minute, call: func(p *process) error {
			p.listen()
			p.boards.Relay(bg, p.ref())
			return nil
		}},
		{area: "board", name: "acknowledge", prepare: told, call: func(p *process) error {
			return p.boards.Acknowledge(bg, p.by("ann"), theBoard, wire.Acknowledge{Through: 1})
		}},
		{area: "board", name: "a write after the idle limit", prepare: func(p *process) { told(p); p.clock.Advance(time.Hour) },
			call: func(p *process) error { return wantClosed(level(p, "k")) }},
		{area: "board", name: "a sweep after the wall clock limit", prepare: wallClock, parts: true, call: sweep},
		{area: "board", name: "abort", prepare: told, again: []refusal.Code{refusal.RunClosed}, call: func(p *process) error {
			_, err := p.boards.Abort(bg, p.by("carl"), theBoard, "enough")
			return err
		}},
		{area: "board", name: "attach", call: func(p *process) error {
			_, err := p.boards.Attach(bg, p.by("carl"), wire.AttachBoard{Board: theBoard, Limits: wire.RunLimits{Idle: time.Hour}}, board.Callables{})
			return err
		}, prepare: func(p *process) {
			opened(p)
			_, err := p.boards.Abort(bg, p.by("carl"), theBoard, "enough")
			p.must(err)
		}},
		{area: "board", name: "erase", prepare: func(p *process) { opened(p); p.must(level(p, "k")) }, call: func(p *process) error {
			_, err := p.boards.Erase(bg, p.by("carl"), theBoard, wire.Erase{Seqs: []id.Seq{1, 2}, Reason: "asked to"})
			return err
		}},
		{area: "board", name: "delete", prepare: func(p *process) { told(p); p.must(level(p, "k")) }, again: []refusal.Code{refusal.UnknownBoard},
			call: func(p *process) error { return p.boards.Delete(bg, p.by("carl"), theBoard) }},
		{area: "board", name: "put a blob", prepare: func(p *process) { p.digest = digest("a value") }, call: func(p *process) error {
			_, err := p.boards.PutBlob(bg, p.by("carl"), []byte("a value"))
			return err
		}},
		{area: "board", name: "collect blobs", prepare: func(p *process) { putBlob(p); p.clock.Advance(time.Hour) }, call: func(p *process) error {
			_, _, err := p.writer.Do(bg, p.tenant, collect{p.clock.Now().Add(-time.Minute)})
			return err
		}},
		{area: "board", name: "read", prepare: func(p *process) { opened(p); p.must(level(p, "k")); putBlob(p) }, reads: true, call: readAll},
		{area: "board", name: "ask for more", prepare: opened, call: askMore},
	}
}

func putBlob(p *process) {
	var err error
	p.digest, err = p.boards.PutBlob(bg, p.by("carl"), []byte("a value"))
	p.must(err)
}

// wallClock makes a board whose wall clock limit has passed and whose idle limit
// has not.
func wallClock(p *process) {
	told(p)
	for _, name := range []string{"x", "y", "z"} {
		p.clock.Advance(30 * time.Minute)
		_, err := p.boards.Register(bg, p.by(name), theBoard, wire.AgentDecl{Name: name, SubscribesTo: wire.Only()})
		p.must(err)
	}
	p.clock.Advance(30 * time.Minute)
}

// sweep is one of a process that reaches the agents.
func sweep(p *process) error {
	p.listen()
	_, err := p.boards.Sweep(bg)
	return err
}

// readAll reads in every way there is, and compares.
func readAll(p *process) error {
	by := p.by("carl")
	list, err := p.boards.List(bg, by, wire.Page{})
	if err != nil {
		return err
	}
	shown, err := p.boards.Show(bg, by, theBoard)
	if err != nil {
		return err
	}
	changes, err := p.boards.Changes(bg, by, theBoard, wire.Page{})
	if err != nil {
		return err
	}
	notes, err := p.boards.Level(bg, by, theBoard, "notes", wire.Page{})
	if err != nil {
		return err
	}
	goal, err := p.boards.Premise(bg, by, theBoard, "goal")
	if err != nil {
		return err
	}
	blob, err := p.boards.Blob(bg, by, p.digest)
	if err != nil {
		return err
	}
	if len(list.Boards) != 1 || shown.Head != 2 || len(changes.Entries) != 2 || len(notes.Entries) != 1 ||
		string(goal.Value) != `"find it"` || string(blob) != "a value" {
		p.Fatalf("read %v, %v, %v, %v, %v, %q", list, shown, changes, notes, goal, blob)
	}
	return nil
}

// askMore decides in the way of a caller that finds out in its transaction what else
// it has to know: whether its entry's key was written, and what is there.
func askMore(p *process) error {
	for {
		if err := askMoreOnce(p); !errors.Is(err, board.ErrRetry) {
			return err
		}
	}
}

func askMoreOnce(p *process) error {
	ref := p.ref()
	tx, facts, err := p.st.Begin(bg, []board.Want{{Ref: ref}})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	more, err := tx.More(bg, []board.Want{{Ref: ref, Keys: []string{"k"}}})
	if err != nil {
		return err
	}
	if _, there := more[0].Keys["k"]; there {
		return nil
	}
	if _, _, err := tx.Entries(bg, ref, board.EntryQuery{Limit: 10}); err != nil {
		return err
	}
	st := board.NewState(ref, facts[0])
	env := board.Env{Now: tx.Now(), Salt: func() []byte { return []byte("sixteen bytes ok") }, NewID: id.New}
	if _, err := st.WriteLevel(env, "carl", wire.LevelWrite{Region: "notes", Content: []byte(`1`), Key: "k"}, board.Verdict{}); err != nil {
		return err
	}
	change, _ := st.Take()
	if err := tx.Apply(bg, board.Changes{Boards: []board.Change{change}}); err != nil {
		return err
	}
	return tx.Commit(bg)
}
