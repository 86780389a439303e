package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// drain lets every call that was begun come to its end.
func (s *sim) drain() {
	stuck := 0
	for s.ok() {
		s.rest()
		running := 0
		for _, p := range s.procs {
			running += p.running()
		}
		gates := s.gates()
		switch {
		case len(gates) > 0:
			stuck = 0
			s.step++
			s.release(pick(s, gates))
		case running == 0:
			return
		case stuck > 100:
			s.fail("%d calls do not come to an end", running)
		default:
			stuck++
			time.Sleep(time.Second)
		}
	}
}

// all lets every process do something and come to its end.
func (s *sim) all(do func(p *proc)) {
	for _, p := range s.procs {
		do(p)
		s.drain()
	}
}

// settle stops the faults, starts what is dead, lets everything come to rest and
// holds all of it against what everybody was told.
func (s *sim) settle() {
	s.calm = true
	s.drain()
	for _, p := range s.procs {
		if p.st.Dead() && s.ok() {
			p.start()
		}
	}
	for _, w := range s.writes {
		if w.maybe && w.key != "" && s.ok() {
			pick(s, s.procs).write(w)
			s.drain()
		}
	}
	for round := 0; s.ok() && (round < 4 || round < 45 && !s.quiet()); round++ {
		s.clock.move(time.Minute)
		s.all((*proc).sweep)
	}
	for _, r := range s.readers {
		for v := s.boards[r.ref]; s.ok() && int(r.at) < len(v.entries); {
			s.procs[0].poll(r, 100)
			s.drain()
		}
	}
	for _, check := range []func(){s.recorded, s.written, s.informed, s.kept, s.held, s.ran} {
		if s.ok() {
			check()
		}
	}
}

// quiet says whether nobody is left to be told of anything.
func (s *sim) quiet() bool {
	for _, v := range s.boards {
		if len(v.facts.Outbox) > 0 && v.ref != scratch {
			return false
		}
	}
	return true
}

// recorded reads every record again.
func (s *sim) recorded() {
	for _, ref := range s.order {
		v := s.boards[ref]
		var all []board.Entry
		for {
			page, _, err := s.raw.Entries(s.ctx, ref, board.EntryQuery{After: id.Seq(len(all)), Limit: 1000})
			if err != nil {
				s.fail("reading %s: %v", ref, err)
				return
			}
			all = append(all, page...)
			if len(page) == 0 {
				break
			}
		}
		if len(all) != len(v.entries) {
			s.fail("%s: %d entries were seen, %d are there", ref, len(v.entries), len(all))
			return
		}
		for i, e := range all {
			was := v.entries[i]
			if e.Seq != was.Seq || e.Region != was.Region || e.Writer != was.Writer || e.Key != was.Key || e.Digest != was.Digest || !e.At.Equal(was.At) ||
				(e.Erased == nil && string(e.Content) != string(was.Content)) || (e.Erased != nil && e.Content != nil) {
				s.fail("%s: entry %d was %+v and is %+v", ref, e.Seq, was, e)
			}
		}
		v.entries = all // as they are now: what was erased refers to nothing
		var keys []string
		for key := range v.keys {
			keys = append(keys, key)
		}
		f, err := s.base.Look(s.ctx, board.Want{Ref: ref, Keys: keys})
		if err != nil {
			s.fail("looking up keys: %v", err)
			return
		}
		for key, seq := range v.keys {
			if f.Keys[key].Seq != seq {
				s.fail("%s: key %s wrote entry %d, the store says %d", ref, key, seq, f.Keys[key].Seq)
			}
		}
	}
}

// written holds the record against what the writers were told.
func (s *sim) written() {
	for _, w := range s.writes {
		at := s.boards[w.ref].contents[w.content]
		switch {
		case w.seq != 0 && (len(at) != 1 || at[0] != w.seq):
			s.fail("%s was acknowledged at %d and is at %v", w, w.seq, at)
		case w.seq == 0 && w.maybe && len(at) > 1:
			s.fail("%s is there %d times: %v", w, len(at), at)
		case w.seq == 0 && !w.maybe && len(at) > 0:
			s.fail("%s was refused and is at %v", w, at)
		}
	}
	for _, e := range s.machines {
		v := s.boards[e.ref]
		for _, c := range e.order {
			if !strings.HasPrefix(c.value, "view") {
				continue
			}
			var at []id.Seq
			for _, entry := range v.entries {
				if entry.Region == c.field && entry.Writer == c.agent && strings.Contains(string(entry.Content), `"`+c.value+`"`) {
					at = append(at, entry.Seq)
				}
			}
			switch {
			case c.seq != 0 && (len(at) != 1 || at[0] != c.seq):
				s.fail("%s: %s=%q was acknowledged at %d and is at %v", e.ref, c.field, c.value, c.seq, at)
			case c.seq == 0 && c.maybe && len(at) > 1:
				s.fail("%s: %s=%q is there %d times", e.ref, c.field, c.value, len(at))
			case c.seq == 0 && !c.maybe && len(at) > 0:
				s.fail("%s: %s=%q was refused and is at %v", e.ref, c.field, c.value, at)
			}
		}
	}
}

// informed holds every agent of an open run to have been told of all that it asked
// for.
func (s *sim) informed() {
	for _, ref := range s.order {
		v := s.boards[ref]
		if v.facts.Row.Run == nil || ref == scratch {
			continue
		}
		if len(v.facts.Outbox) > 0 {
			s.fail("%s: everything is at rest and the outbox has %+v", ref, v.facts.Outbox)
		}
		if lost := s.agents.uncovered(v); lost != "" {
			s.fail("%s: %s", ref, lost)
		}
	}
}

// kept looks for every blob that an entry refers to.
func (s *sim) kept() {
	for _, ref := range s.order {
		for _, e := range s.boards[ref].entries {
			for _, d := range e.Blobs {
				if data, err := s.raw.Blob(s.ctx, ref.Tenant, d); err != nil || data == nil {
					s.fail("%s: entry %d refers to blob %s, which is gone (%v)", ref, e.Seq, d, err)
				}
			}
		}
	}
}

// shown asks how a board stands, through whatever the writer holds of it.
type shown struct{ ref id.Ref }

func (c shown) Wants() []board.Want { return []board.Want{{Ref: c.ref}} }

func (c shown) Decide(t *control.Turn) (any, error) {
	st := t.Board(c.ref)
	due, at := st.Due(t.Now)
	text, err := json.Marshal([]any{st.View(), st.Row(), due, at})
	return string(text), err
}

// held compares what every process holds in memory with what a fresh one reads.
func (s *sim) held() {
	fresh := &proc{s: s, name: "fresh"}
	fresh.start()
	s.procs = append(s.procs, fresh)
	for _, ref := range s.order {
		var answers []string
		s.all(func(p *proc) {
			p.run("shows "+ref.String(), func() { answers = append(answers, p.shows(ref, s.boards[ref].machine)) })
		})
		for i, a := range answers {
			if want := answers[len(answers)-1]; a != want {
				s.fail("%s holds of %s\n%s\nand a fresh process reads\n%s", s.procs[i].name, ref, a, want)
			}
		}
	}
}

func (p *proc) shows(ref id.Ref, machine bool) string {
	answer, _, err := p.writer.Do(p.s.ctx, ref.Tenant, shown{ref})
	out := fmt.Sprint(answer, err)
	if !machine {
		return out
	}
	c, err := p.machines.Claim(p.s.ctx, p.who(ref, "runner"), ref.Board, "nobody", nil)
	out += fmt.Sprint(c.Next, c.Closes, c.Now, c.Ended != nil, c.Outcome, err)
	for _, agent := range []string{"chief", "left", "right"} {
		surface := p.machines.Surface(p.who(ref, agent), ref.Board, &wire.Summons{Agent: agent, Entry: 1, Attempt: 1, Generation: 1})
		standing, err := surface.Standing(p.s.ctx)
		out += fmt.Sprintln(standing, err)
	}
	for _, field := range []string{"seen", "views", "rounds", "end", "report"} {
		f, err := p.machines.Surface(p.who(ref, "chief"), ref.Board, &wire.Summons{Agent: "chief"}).ReadContext(p.s.ctx, field)
		text, _ := json.Marshal(f)
		out += fmt.Sprintln(string(text), err)
	}
	return out
}

// ran verifies every machine's run: what its agents wrote comes to what is on the
// record, and no bound was passed.
func (s *sim) ran() {
	p := s.procs[0]
	for _, e := range s.machines {
		if !s.boards[e.ref].facts.Found {
			continue
		}
		p.run("verifies "+e.ref.String(), func() {
			v, err := p.machines.Verify(s.ctx, p.who(e.ref, "auditor"), e.ref.Board)
			if err != nil {
				s.fail("verifying %s: %v", e.ref, err)
				return
			}
			run, err := p.machines.Replay(s.ctx, p.who(e.ref, "auditor"), e.ref.Board, 0)
			if err != nil {
				s.fail("replaying %s: %v", e.ref, err)
				return
			}
			s.bounded(e, run)
			if v.Through != s.boards[e.ref].facts.Row.Head || run.Position() != v.Through {
				s.fail("%s: verified up to %d and replayed up to %d, the head is %d", e.ref, v.Through, run.Position(), s.boards[e.ref].facts.Row.Head)
			}
			standing, err := p.machines.Surface(p.who(e.ref, "chief"), e.ref.Board, &wire.Summons{Agent: "chief"}).Standing(s.ctx)
			if err != nil && refusal.CodeOf(err) != refusal.RunClosed || err == nil && (standing.State != run.State() || standing.Position != run.Position()) {
				s.fail("%s stands at %+v (%v) and is replayed to %s at %d", e.ref, standing, err, run.State(), run.Position())
			}
		})
		s.drain()
	}
}

func (s *sim) bounded(e *errand, run *machine.Run) {
	c, policy := run.Counters(), run.Definition().Policy
	for state, n := range c.Entries {
		if n-1 > policy.MaxIterations+1 {
			s.fail("%s entered %s %d times", e.ref, state, n)
		}
	}
	if c.Exchanges > policy.MaxExchangesPerStage {
		s.fail("%s sent %d summonses in one stage", e.ref, c.Exchanges)
	}
	for agent, n := range c.ExchangesByAgent {
		if n > policy.MaxExchangesPerAgentPerStage {
			s.fail("%s sent %d summonses to %s in one stage", e.ref, n, agent)
		}
	}
	open := s.boards[e.ref].facts.Row.Run != nil
	if run.Ended() != nil && open {
		s.fail("%s: the machine has ended and its board's run is open", e.ref)
	}
}
