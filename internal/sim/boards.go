package sim

import (
	"encoding/json"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// The boards that applications write. The first has no limits, the second both, and
// the third is asked a termination predicate; the last comes and goes.
var (
	endless = id.Ref{Tenant: "north", Board: "endless"}
	limited = id.Ref{Tenant: "north", Board: "limited"}
	asked   = id.Ref{Tenant: "south", Board: "asked"}
	scratch = id.Ref{Tenant: "south", Board: "scratch"}

	plain    = []id.Ref{endless, limited, asked}
	levels   = []string{"notes", "notes", "log", "_hidden"}
	premises = []string{"goal", "goal", "goal", "plan", "plan", "side 1", "side 2", "side 3", "side 4"}
	writers  = []string{"wanda", "wim", "ann", "bob", "cat", "mallory"}
)

// judged says whether a termination predicate is held for the board.
func judged(ref id.Ref) bool { return ref == asked }

func limitsOf(ref id.Ref) wire.RunLimits {
	switch ref {
	case limited:
		return wire.RunLimits{Idle: 40 * time.Second, WallClock: 5 * time.Minute}
	case asked:
		return wire.RunLimits{Idle: 30 * time.Second}
	}
	return wire.RunLimits{}
}

// setUp starts the processes and makes the boards, with nothing going wrong.
func (s *sim) setUp() {
	s.calm = true
	for _, p := range []*proc{{name: "one", reaches: true}, {name: "two", reaches: true}, {name: "crowd"}} {
		p.s = s
		s.procs = append(s.procs, p)
		p.start()
	}
	s.watch(scratch, false)
	for i, ref := range plain {
		s.watch(ref, false)
		s.readers = append(s.readers, &reader{ref: ref}, &reader{ref: ref})
		p := s.procs[i%2]
		p.run("makes "+ref.String(), func() {
			_, err := p.boards.Create(s.ctx, p.who(ref, "maker"), wire.CreateBoard{Board: ref.Board, Agents: cast[:3],
				Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}, {Name: "log", Kind: wire.Level, Window: 2 * time.Second}, {Name: "_hidden", Kind: wire.Level},
					{Name: "goal", Kind: wire.Premise}, {Name: "plan", Kind: wire.Premise, Window: time.Second},
					{Name: "side 1", Kind: wire.Premise}, {Name: "side 2", Kind: wire.Premise}, {Name: "side 3", Kind: wire.Premise}, {Name: "side 4", Kind: wire.Premise}},
				Opening: []wire.Opening{{Region: "goal", Content: json.RawMessage(`"begin"`)}}, Limits: limitsOf(ref)}, p.callables(ref, p.st))
			p.expected("makes a board", p.st, err)
		})
		s.drain()
	}
	s.calm = false
}

// begin draws what an idle process does next.
func (p *proc) begin() {
	s := p.s
	switch n := s.rng.IntN(100); {
	case n < 15:
		p.write(s.draw(pick(s, plain)))
	case n < 23:
		if w := s.again(); w != nil {
			p.write(w)
		}
	case n < 35:
		p.readThenWrite()
	case n < 40:
		if r := pick(s, s.readers); !r.active {
			p.poll(r, 1+s.rng.IntN(6))
		}
	case n < 46:
		p.sweep()
	case n < 51:
		p.acknowledge()
	case n < 58:
		p.maintain()
	default:
		if !p.reaches && n < 75 {
			p.crowd()
		} else {
			p.machine()
		}
	}
}

func (p *proc) sweep() {
	p.run("sweeps", func() {
		st := p.st
		_, err := p.boards.Sweep(p.s.ctx)
		p.expected("sweeps", st, err)
	})
}
