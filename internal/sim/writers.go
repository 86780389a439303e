package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/store/faults"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// write is one write as its client knows it.
type write struct {
	n                   int
	ref                 id.Ref
	region, writer, key string
	premise             bool
	expect              id.Version
	content             string
	blobs               []id.Digest
	// seq is set once it was acknowledged. It may be on the record before that, when
	// an answer was lost.
	seq    id.Seq
	maybe  bool
	active bool
}

func (w *write) String() string {
	return fmt.Sprintf("write %d (%s %s by %s, key %q)", w.n, w.ref, w.region, w.writer, w.key)
}

// calmCodes are refusals that any write may meet.
var calmCodes = []refusal.Code{refusal.RunClosed, refusal.Admission, refusal.NotPermitted, refusal.Conflict, refusal.UnknownBlob, refusal.UnknownBoard}

// expected fails the simulation on an error that nothing explains, and reports
// whether what was called may have been done all the same.
func (p *proc) expected(what string, st *faults.Store, err error, codes ...refusal.Code) (maybe bool) {
	switch code := refusal.CodeOf(err); {
	case err == nil:
		return false
	case errors.Is(err, faults.ErrKilled):
		return true
	case code == refusal.CommitUnknown && p.hurt:
		p.s.mu.Lock()
		p.s.stats.Uncertain++
		p.s.mu.Unlock()
		return true
	case errors.Is(err, faults.ErrInjected) && p.hurt, slices.Contains(codes, code):
		return false
	case st.Dead():
		return true
	}
	p.s.fail("%s %s: %v", p.name, what, err)
	return false
}

func (p *proc) who(ref id.Ref, name string) control.Principal {
	return control.Principal{Tenant: ref.Tenant, Name: name}
}

// write makes a new write or, with one that has a key and is uncertain, the same again.
func (p *proc) write(w *write) {
	s := p.s
	w.active = true
	p.run(fmt.Sprintf("makes %s", w), func() {
		st := p.st
		var r wire.Result
		var err error
		if w.premise {
			r, err = p.boards.WritePremise(s.ctx, p.who(w.ref, w.writer), w.ref.Board, wire.PremiseWrite{Region: w.region, Expect: w.expect, Content: json.RawMessage(w.content), Key: w.key, Blobs: w.blobs})
		} else {
			r, err = p.boards.WriteLevel(s.ctx, p.who(w.ref, w.writer), w.ref.Board, wire.LevelWrite{Region: w.region, Content: json.RawMessage(w.content), Key: w.key, Blobs: w.blobs})
		}
		s.answered(p, st, w, r, err)
	})
}

// answered holds an answer against what is there.
func (s *sim) answered(p *proc, st *faults.Store, w *write, r wire.Result, err error) {
	defer func() { w.active = false }()
	if err == nil && st.Dead() {
		err = faults.ErrKilled // nobody is there to hear the answer
	}
	if err == nil && r.Written == nil {
		err = r.Refusal()
	}
	if err != nil {
		maybe := p.expected(w.String(), st, err, calmCodes...)
		switch {
		case maybe:
			w.maybe = true
		case w.key != "" && !errors.Is(err, faults.ErrInjected):
			w.maybe = false // its key is looked at first: no earlier attempt is there
		}
		s.mu.Lock()
		if refusal.CodeOf(err) == refusal.Conflict {
			s.stats.Conflicts++
		}
		s.mu.Unlock()
		if w.premise && r.Conflict != nil && r.Conflict.Current == w.expect {
			s.fail("%s: a conflict with the version it expected", w)
		}
		return
	}
	got := r.Written
	s.mu.Lock()
	s.stats.Acknowledged++
	if got.Repeated {
		s.stats.Repeats++
	}
	s.mu.Unlock()
	switch {
	case got.Repeated && !w.maybe && w.seq == 0:
		s.fail("%s was answered as a repeat the first time", w)
	case w.seq != 0 && w.seq != got.Seq:
		s.fail("%s was acknowledged at %d and at %d", w, w.seq, got.Seq)
	case got.Differs:
		s.fail("%s: its repeat differs from it", w)
	case w.premise && got.Version != w.expect+1:
		s.fail("%s expected version %d and made %d", w, w.expect, got.Version)
	}
	w.seq, w.maybe = got.Seq, false
	// What is acknowledged is there already.
	entries, _, err := s.raw.Entries(s.ctx, w.ref, board.EntryQuery{After: got.Seq - 1, Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Seq != got.Seq {
		s.fail("%s was acknowledged at %d and is not there: %v, %v", w, got.Seq, entries, err)
		return
	}
	e := entries[0]
	if e.Region != w.region || e.Writer != w.writer || e.Key != w.key || !e.At.Equal(got.At) || e.Version != got.Version ||
		(e.Erased == nil && string(e.Content) != w.content) {
		s.fail("%s was acknowledged as %+v, at its place is %+v", w, *got, e)
	}
}

// draw makes up a write.
func (s *sim) draw(ref id.Ref) *write {
	w := &write{n: len(s.writes) + 1, ref: ref, region: pick(s, levels), writer: pick(s, writers)}
	w.content = fmt.Sprintf(`{"write":%d}`, w.n)
	if !s.chance(3) {
		w.key = fmt.Sprintf("key %d", w.n)
	}
	if len(s.blobs) > 0 && s.chance(8) {
		w.blobs = []id.Digest{pick(s, s.blobs)}
	}
	s.writes = append(s.writes, w)
	return w
}

// again finds a write that is to be made again: it has a key, and either its answer
// was lost or it is simply repeated.
func (s *sim) again() *write {
	for range 5 {
		if len(s.writes) == 0 {
			return nil
		}
		w := s.writes[max(0, len(s.writes)-1-s.rng.IntN(30))]
		if w.key != "" && !w.active && (w.maybe || w.seq > 0 && s.chance(4)) {
			return w
		}
	}
	return nil
}

// place is where a premise is written: for a while most go to the same one, because
// what goes wrong goes wrong where callers meet.
func (s *sim) place() (id.Ref, string) {
	if s.chance(3) {
		return pick(s, plain), pick(s, premises)
	}
	if s.step >= s.hotUntil {
		s.hotRef, s.hotRegion, s.hotUntil = pick(s, plain), pick(s, premises), s.step+60
	}
	return s.hotRef, s.hotRegion
}

// readThenWrite reads a premise and writes it at the version that it read.
func (p *proc) readThenWrite() {
	s := p.s
	ref, region := s.place()
	w := s.draw(ref)
	w.premise, w.region, w.active = true, region, true
	p.run(fmt.Sprintf("reads, then makes %s", w), func() {
		st := p.st
		now, err := p.boards.Premise(s.ctx, p.who(w.ref, w.writer), w.ref.Board, w.region)
		if p.expected("reads "+w.region, st, err); err != nil {
			w.active = false
			return
		}
		if !st.Dead() {
			s.valued(w, now)
		}
		w.expect = now.Version
		r, err := p.boards.WritePremise(s.ctx, p.who(w.ref, w.writer), w.ref.Board,
			wire.PremiseWrite{Region: w.region, Expect: w.expect, Content: json.RawMessage(w.content), Key: w.key, Blobs: w.blobs})
		s.answered(p, st, w, r, err)
	})
}

// valued holds a premise as it was read against the version that it is said to have.
func (s *sim) valued(w *write, now wire.PremiseState) {
	for _, e := range s.boards[w.ref].entries {
		if e.Region == w.region && e.Version == now.Version {
			if now.Erased == nil && (string(now.Value) != string(e.Content) || now.Seq != e.Seq || now.Writer != e.Writer) {
				s.fail("%s %s was read as %+v, its version %d is %+v", w.ref, w.region, now, now.Version, e)
			}
			return
		}
	}
	if now.Version != 0 || now.Value != nil {
		s.fail("%s %s was read as %+v, which was never written", w.ref, w.region, now)
	}
}

// crowd lets several callers write one board at the same time, so that they share
// transactions. The process reaches nobody, so that nothing follows their answers.
func (p *proc) crowd() {
	s := p.s
	ref := pick(s, plain)
	for range 2 + s.rng.IntN(8) {
		w := s.draw(ref)
		if s.chance(4) {
			w.premise, w.region = true, pick(s, premises)
			if v := s.boards[ref]; v.folded[w.region] != nil {
				w.expect = v.folded[w.region].version
			}
		}
		p.write(w)
		s.rest() // it stands in line before the next one comes
	}
}

// reader follows a board's record by its cursor.
type reader struct {
	ref    id.Ref
	cursor string
	at     id.Seq
	active bool
}

func (p *proc) poll(r *reader, limit int) {
	s := p.s
	r.active = true
	p.run(fmt.Sprintf("reads %s after %d", r.ref, r.at), func() {
		defer func() { r.active = false }()
		st := p.st
		page, err := p.boards.Changes(s.ctx, p.who(r.ref, "reader"), r.ref.Board, wire.Page{Cursor: r.cursor, Limit: limit})
		if p.expected("reads", st, err); err != nil || st.Dead() {
			return
		}
		v := s.boards[r.ref]
		for _, e := range page.Entries {
			if e.Seq != r.at+1 {
				s.fail("a reader of %s at %d was given entry %d", r.ref, r.at, e.Seq)
				return
			}
			r.at = e.Seq
			if int(e.Seq) <= len(v.entries) {
				if want := v.entries[e.Seq-1]; e.Region != want.Region || e.Writer != want.Writer || (e.Erased == nil && string(e.Content) != string(want.Content)) {
					s.fail("a reader of %s was given %+v at %d, the record has %+v", r.ref, e, e.Seq, want)
				}
			}
		}
		if page.Head < r.at || !page.More && page.Head != r.at {
			s.fail("a reader of %s at %d was told of head %d, more %v", r.ref, r.at, page.Head, page.More)
		}
		r.cursor = page.Next
	})
}

// admission is every process's admission rule.
func admission(_ context.Context, p board.Proposal) board.Verdict {
	return board.Verdict{Rejected: p.Writer == "mallory", Reason: "not from you"}
}

// complete is what the termination predicate says of a board at a position.
func complete(head id.Seq) bool { return head%3 == 0 }

func termination(_ context.Context, b wire.BoardState) bool { return complete(b.Head) }

// maintain erases, aborts, attaches, registers, puts and collects.
func (p *proc) maintain() {
	s := p.s
	ref := pick(s, plain)
	v := s.boards[ref]
	by := p.who(ref, "keeper")
	any := []refusal.Code{refusal.RunClosed, refusal.UnknownBoard, refusal.AgentExists}
	do := func(what string, call func() error, codes ...refusal.Code) {
		p.run(what, func() {
			st := p.st
			p.expected(what, st, call(), append(codes, any...)...)
		})
	}
	switch n := s.rng.IntN(20); {
	case n < 3 && len(v.entries) > 0:
		seq := id.Seq(1 + s.rng.IntN(len(v.entries)))
		do(fmt.Sprintf("erases %s %d", ref, seq), func() error {
			st := p.st
			_, err := p.boards.Erase(s.ctx, by, ref.Board, wire.Erase{Seqs: []id.Seq{seq}, Reason: "asked to"})
			if err == nil && !st.Dead() {
				if e, _, _ := s.raw.Entries(s.ctx, ref, board.EntryQuery{After: seq - 1, Limit: 1}); len(e) != 1 || e[0].Content != nil || e[0].Salt != nil || e[0].Digest == "" && e[0].Erased != nil {
					s.fail("entry %s %d was erased and is %+v", ref, seq, e)
				}
			}
			return err
		})
	case n < 4:
		do(fmt.Sprintf("aborts %s", ref), func() error {
			_, err := p.boards.Abort(s.ctx, by, ref.Board, "enough")
			return err
		})
	case n < 8:
		do(fmt.Sprintf("attaches to %s", ref), func() error {
			_, err := p.boards.Attach(s.ctx, by, wire.AttachBoard{Board: ref.Board, Limits: limitsOf(ref)}, p.callables(ref, p.st))
			return err
		})
	case n < 13:
		a := pick(s, cast)
		do(fmt.Sprintf("registers %s on %s", a.Name, ref), func() error {
			_, err := p.boards.Register(s.ctx, by, ref.Board, a)
			return err
		})
	case n < 15:
		data := fmt.Sprintf("value %d", s.rng.IntN(12))
		do("puts "+data, func() error {
			d, err := p.boards.PutBlob(s.ctx, by, []byte(data))
			if err == nil {
				s.mu.Lock()
				if !slices.Contains(s.blobs, d) {
					s.blobs = append(s.blobs, d)
				}
				s.mu.Unlock()
			}
			return err
		})
	case n < 17:
		before := s.clock.Now().Add(-time.Minute)
		do("collects blobs", func() error {
			_, _, err := p.writer.Do(s.ctx, ref.Tenant, collect{before})
			return err
		})
	default:
		do("makes and removes a board", func() error {
			return p.passing(s)
		}, refusal.RegionExists, refusal.RunOpen)
	}
}

// passing makes a board that is deleted again at some time.
func (p *proc) passing(s *sim) error {
	by := p.who(scratch, "maker")
	_, err := p.boards.Create(s.ctx, by, wire.CreateBoard{Board: scratch.Board, Agents: []wire.AgentDecl{{Name: "ann"}},
		Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}, {Name: "goal", Kind: wire.Premise}},
		Opening: []wire.Opening{{Region: "goal", Content: json.RawMessage(`1`)}}}, board.Callables{})
	if refusal.CodeOf(err) == refusal.RegionExists {
		err = p.boards.Delete(s.ctx, by, scratch.Board)
	}
	return err
}

// collect removes blobs that nothing refers to and that were put before an instant.
type collect struct{ before time.Time }

func (collect) Wants() []board.Want { return nil }

func (c collect) Decide(t *control.Turn) (any, error) {
	t.CollectBlobs(c.before)
	return nil, nil
}
