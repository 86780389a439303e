package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// machineSystem is the writer with both areas on a store.
type machineSystem struct {
	st       *sqlite.Store
	machines *machines.Service
}

func (b *bench) openMachines(path string) (*machineSystem, error) {
	st, err := sqlite.Open(b.ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	area := machines.NewArea(st)
	w := control.NewWriter(st, area)
	bs, err := boards.New(b.ctx, w, boards.Config{})
	if err != nil {
		return nil, err
	}
	return &machineSystem{st: st, machines: machines.New(w, bs, area)}, nil
}

var runner = control.Principal{Tenant: id.DefaultTenant, Name: "bench"}

// openingRows measure how long a long run takes to be opened by a process that has
// never seen it.
func openingRows(b *bench) error {
	const name = id.Board("six")
	writes := 100_000
	if b.quick {
		writes = 20_000
	}
	for _, elements := range []int{100, 9_900} {
		path := filepath.Join(b.dir, fmt.Sprintf("opening-%d.db", elements))
		if err := b.longRun(path, name, writes, elements); err != nil {
			return err
		}
		var all, first figures
		for range 15 {
			begun := time.Now()
			s, err := b.openMachines(path)
			if err != nil {
				return err
			}
			opened := time.Now()
			if _, err := s.machines.Claim(b.ctx, runner, name, "bench", nil); err != nil {
				return err
			}
			all = append(all, float64(time.Since(begun).Nanoseconds()))
			first = append(first, float64(time.Since(opened).Nanoseconds()))
			if err := s.st.Close(); err != nil {
				return err
			}
		}
		b.add(row{what: fmt.Sprintf("opening a run with %s writes from its checkpoint, %s of them in its list, SQLite: the file and the first call",
			whole(float64(writes)), whole(float64(elements))),
			target: "≤ 50 ms", result: millis(all) + "; the first call " + millis(first), met: all.median() <= 50e6})
	}
	return nil
}

// longRun makes a machine's run by its reducer and puts its record into a file in
// large transactions, with the checkpoints that the reducer asks for.
func (b *bench) longRun(path string, name id.Board, writes, elements int) error {
	s, err := b.openMachines(path)
	if err != nil {
		return err
	}
	defer s.st.Close()
	l, err := newLoop(machine.DefaultMaxItems)
	if err != nil {
		return err
	}
	if _, err := s.machines.Open(b.ctx, runner, name, l.run.Definition(), wire.RunLimits{}); err != nil {
		return err
	}
	// The reducer is deterministic: a run of its own stands where the board's does.
	var records []machine.Record
	var checkpoint *store.Checkpoint
	l.took = func(step machine.Step) {
		records = append(records, step.Records...)
		if step.Checkpoint {
			checkpoint = &store.Checkpoint{Seq: l.run.Position(), Body: l.run.Checkpoint()}
		}
	}
	ref := id.Ref{Tenant: runner.Tenant, Board: name}
	flush := func() error {
		err := applyMachine(b.ctx, s.st, ref, func(f board.Facts, tx board.Tx) (board.Change, store.MachineChange) {
			return appended(f, tx.Now(), records), store.MachineChange{Ref: ref, Checkpoint: checkpoint, Summons: l.run.DirtySummons()}
		})
		records, checkpoint = nil, nil
		return err
	}
	for i := range writes {
		if i*elements/writes != (i+1)*elements/writes {
			err = l.element()
		} else {
			err = l.turn()
		}
		if err != nil {
			return err
		}
		if len(records) >= 5000 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// appended is the change of a board that takes these records.
func appended(f board.Facts, at time.Time, records []machine.Record) board.Change {
	c := board.Change{Row: f.Row}
	regions := map[string]*board.Region{}
	for i := range f.Regions {
		regions[f.Regions[i].Name] = &f.Regions[i]
	}
	touched := map[string]bool{}
	for _, r := range records {
		e := board.Entry{Entry: r.Entry()}
		e.At = at
		if e.Content != nil {
			sum := sha256.Sum256(e.Content)
			e.Salt, e.Digest = sum[:16], id.Digest(fmt.Sprintf("%x", sum))
		}
		c.Entries = append(c.Entries, e)
		region := regions[r.Region]
		if region.LastWriter != r.Writer {
			region.Other, region.LastWriter = region.Last, r.Writer
		}
		region.Last, region.Version, region.Count = r.Seq, r.Version, region.Count+1
		touched[r.Region] = true
		c.Row.Head = r.Seq
	}
	for name := range touched {
		c.Regions = append(c.Regions, *regions[name])
	}
	c.Row.Rev++
	c.Row.Latest = at
	return c
}
