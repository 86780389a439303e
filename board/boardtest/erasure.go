package boardtest

import (
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

func (r *rig) erase(reason string, seqs ...id.Seq) int {
	r.t.Helper()
	n, err := r.s.Erase(r.ctx, by("officer"), name, wire.Erase{Seqs: seqs, Reason: reason})
	r.ok(err)
	return n
}

var erasure = []sentence{
	{"erasing takes content and salt and leaves position, digest and a tombstone", func(t *testing.T, r *rig) {
		r.create()
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`"secret"`), Key: "k"}))
		r.level("a", "facts", `"other"`)
		before := r.changes()[0]
		r.clock.move(time.Minute)
		equal(t, "erased", r.erase("asked to", 1), 1)
		for _, p := range []*rig{r, r.again()} {
			rows, head, err := p.store.Entries(r.ctx, ref, board.EntryQuery{Limit: 10})
			r.ok(err)
			equal(t, "head", head, 2)
			e := rows[0]
			if e.Content != nil || e.Salt != nil || e.Digest != before.Digest || e.Digest == "" || e.Seq != 1 || e.Writer != "a" || e.Key != "k" || !e.At.Equal(before.At) {
				t.Fatalf("%+v", e)
			}
			if e.Erased == nil || e.Erased.By != "officer" || e.Erased.Reason != "asked to" || !e.Erased.At.Equal(start.Add(time.Minute)) {
				t.Fatalf("%+v", e.Erased)
			}
			if rows[1].Erased != nil || string(rows[1].Content) != `"other"` || rows[1].Salt == nil {
				t.Fatalf("%+v", rows[1])
			}
		}
	}},
	{"an entry that was erased stays as it is", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		r.level("a", "facts", `2`)
		r.erase("first", 1)
		r.clock.move(time.Minute)
		equal(t, "erased", r.erase("second", 1, 2, 2), 1)
		got := r.changes()
		if got[0].Erased.Reason != "first" || !got[0].Erased.At.Equal(start) || got[1].Erased.Reason != "second" {
			t.Fatalf("%+v %+v", got[0].Erased, got[1].Erased)
		}
	}},
	{"a premise whose value was erased keeps its version and says so", func(t *testing.T, r *rig) {
		r.create()
		r.premise("a", "window", 0, `"secret"`)
		r.erase("", 1)
		p, err := r.s.Premise(r.ctx, by("a"), name, "window")
		r.ok(err)
		if p.Version != 1 || p.Value != nil || p.Erased == nil {
			t.Fatalf("%+v", p)
		}
		equal(t, "next version", r.premise("a", "window", 1, `1`).Version, 2)
	}},
	{"an entry that never had content has none to erase", func(t *testing.T, r *rig) {
		r.create()
		r.premise("a", "window", 0, "")
		equal(t, "erased", r.erase("", 1), 0)
		if e := r.changes()[0]; e.Erased != nil {
			t.Fatalf("%+v", e)
		}
	}},
	{"an entry that does not exist is refused UNKNOWN_ENTRY and nothing is erased", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		for _, seq := range []id.Seq{2, 0, -1, 1 << 60} {
			_, err := r.s.Erase(r.ctx, by("a"), name, wire.Erase{Seqs: []id.Seq{1, seq}})
			r.refused(err, refusal.UnknownEntry)
		}
		_, err := r.s.Erase(r.ctx, by("a"), name, wire.Erase{})
		r.refused(err, refusal.InvalidRequest)
		_, err = r.s.Erase(r.ctx, by("a"), name, wire.Erase{Seqs: make([]id.Seq, wire.MaxPage+1)})
		r.refused(err, refusal.InvalidRequest)
		equal(t, "content", string(r.changes()[0].Content), `1`)
	}},
	{"content is erased whether or not a run is open, and takes no position", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		e.take()
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		equal(t, "erased", r.erase("", 1), 1)
		equal(t, "head", r.show().Head, 1)
		r.heard(e)
	}},
	{"erasing an entry frees what only it referred to", func(t *testing.T, r *rig) {
		r.create()
		mine, shared, cleared := r.put("mine"), r.put("shared"), r.put("cleared")
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Blobs: []id.Digest{mine, shared}}))
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`2`), Blobs: []id.Digest{shared}}))
		r.wrote(r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Blobs: []id.Digest{cleared}}))
		equal(t, "erased", r.erase("", 1, 3), 2)
		r.clock.move(time.Hour)
		r.collect(r.clock.now())
		if r.has(mine) || r.has(cleared) || !r.has(shared) {
			t.Fatalf("mine %v, cleared %v, shared %v", r.has(mine), r.has(cleared), r.has(shared))
		}
		for _, p := range []*rig{r, r.again()} {
			if e := p.changes(); e[0].Blobs != nil || len(e[1].Blobs) != 1 {
				t.Fatalf("%+v", e)
			}
		}
	}},
	{"long content is erased as short is", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `"`+strings.Repeat("long ", 100_000)+`"`)
		r.erase("", 1)
		if e := r.changes()[0]; e.Content != nil || e.Erased == nil {
			t.Fatalf("%d bytes stay", len(e.Content))
		}
	}},
}
