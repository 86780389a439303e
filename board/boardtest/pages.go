package boardtest

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// seqs are the sequence numbers of a page.
func seqs(p wire.Entries) (out []id.Seq) {
	for _, e := range p.Entries {
		out = append(out, e.Seq)
	}
	return out
}

// reads are the two reads that page, of a board whose odd positions are facts.
var reads = map[string]func(r *rig, page wire.Page) (wire.Entries, error){
	"changes": func(r *rig, page wire.Page) (wire.Entries, error) { return r.s.Changes(r.ctx, by("a"), name, page) },
	"level": func(r *rig, page wire.Page) (wire.Entries, error) {
		return r.s.Level(r.ctx, by("a"), name, "facts", page)
	},
}

// lived is a store of which another life is told: the same boards under another
// identity or epoch.
type lived struct {
	board.Store
	identity string
	epoch    id.Epoch
}

func (l lived) Info(ctx context.Context) (board.Info, error) {
	info, err := l.Store.Info(ctx)
	info.Epoch += l.epoch
	info.Identity += l.identity
	return info, err
}

var pages = []sentence{
	{"pages follow each other without a gap and without a repeat", func(t *testing.T, r *rig) {
		r.create()
		for i := range 11 {
			r.level("a", []string{"facts", "ideas"}[i%2], `1`)
		}
		for _, limit := range []int{1, 2, 3, 6, 10, 11, 12} {
			for what, read := range reads {
				var got []id.Seq
				page, pages := wire.Page{Limit: limit}, 0
				for {
					pages++
					p, err := read(r, page)
					r.ok(err)
					got = append(got, seqs(p)...)
					if len(p.Entries) > limit || p.Head != 11 || p.Next == "" || pages > 12 {
						t.Fatalf("%s by %d: %+v", what, limit, p)
					}
					page.Cursor = p.Next
					if !p.More {
						break
					}
				}
				want := "[1 2 3 4 5 6 7 8 9 10 11]"
				count := 11
				if what == "level" {
					want, count = "[1 3 5 7 9 11]", 6
				}
				equal(t, fmt.Sprintf("pages of %s by %d", what, limit), pages, (count+limit-1)/limit)
				equal(t, fmt.Sprintf("%s by %d", what, limit), fmt.Sprint(got), want)
			}
		}
	}},
	{"a reader at the end comes back with its cursor for news", func(t *testing.T, r *rig) {
		r.create()
		for what, read := range reads {
			p, err := read(r, wire.Page{})
			r.ok(err)
			before := r.show().Head
			for range 3 {
				r.level("a", "facts", `1`)
				r.set("a", "window")
			}
			news, err := read(r.again(), wire.Page{Cursor: p.Next})
			r.ok(err)
			if len(news.Entries) == 0 || news.Entries[0].Seq != before+1 || news.More {
				t.Fatalf("%s: %+v", what, news)
			}
			quiet, err := read(r, wire.Page{Cursor: news.Next})
			r.ok(err)
			if len(quiet.Entries) != 0 || quiet.More || quiet.Next != news.Next {
				t.Fatalf("%s: %+v", what, quiet)
			}
		}
	}},
	{"a page without a limit holds the default, and no page more than the most", func(t *testing.T, r *rig) {
		r.create()
		r.many1200()
		for limit, want := range map[int]int{0: wire.DefaultPage, -5: wire.DefaultPage, 1000: wire.MaxPage, 1 << 30: wire.MaxPage} {
			p, err := r.s.Changes(r.ctx, by("a"), name, wire.Page{Limit: limit})
			r.ok(err)
			equal(t, fmt.Sprintf("entries with limit %d", limit), len(p.Entries), want)
			if !p.More {
				t.Fatal("more is left and the page does not say so")
			}
		}
	}},
	{"a cursor of another store or another epoch is answered CURSOR_GAP", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		p, err := r.s.Changes(r.ctx, by("a"), name, wire.Page{})
		r.ok(err)
		elsewhere := newRig(t, r.f)
		elsewhere.create()
		elsewhere.level("a", "facts", `1`)
		strange := on(t, r.f, r.clock, lived{r.store, "-x.y", 0})
		foreign, err := strange.s.Changes(r.ctx, by("a"), name, wire.Page{})
		r.ok(err)
		for _, other := range []*rig{elsewhere, strange, on(t, r.f, r.clock, lived{r.store, "", 1})} {
			for what, read := range reads {
				if _, err := read(other, wire.Page{Cursor: p.Next}); refusal.CodeOf(err) != refusal.CursorGap {
					t.Fatalf("%s: %v", what, err)
				}
			}
		}
		_, err = strange.s.Changes(r.ctx, by("a"), name, wire.Page{Cursor: foreign.Next})
		r.ok(err)
	}},
	{"a cursor beyond the head is answered CURSOR_GAP", func(t *testing.T, r *rig) {
		r.create()
		for range 3 {
			r.level("a", "facts", `1`)
		}
		p, err := r.s.Changes(r.ctx, by("a"), name, wire.Page{})
		r.ok(err)
		r.ok(r.s.Delete(r.ctx, by("a"), name))
		_, err = r.s.Changes(r.ctx, by("a"), name, wire.Page{Cursor: p.Next})
		r.refused(err, refusal.UnknownBoard)
		r.create()
		r.level("a", "facts", `1`)
		for what, read := range reads {
			if _, err := read(r, wire.Page{Cursor: p.Next}); refusal.CodeOf(err) != refusal.CursorGap {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}},
	{"what is no cursor is refused CURSOR_INVALID", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		p, err := r.s.Changes(r.ctx, by("a"), name, wire.Page{})
		r.ok(err)
		r.make(wire.CreateBoard{Board: "second"})
		list, err := r.s.List(r.ctx, by("a"), wire.Page{Limit: 1})
		r.ok(err)
		inside, err := base64.RawURLEncoding.DecodeString(p.Next)
		r.ok(err)
		bad := []string{"x", "1", "!", p.Next + "!", "0", "AAAA", string(inside), list.Next}
		for _, tail := range []string{"x", ".1", " ", "99999999999999999999", "\n"} {
			bad = append(bad, base64.RawURLEncoding.EncodeToString(append(append([]byte(nil), inside...), tail...)))
		}
		for _, cursor := range bad {
			for what, read := range reads {
				if _, err := read(r, wire.Page{Cursor: cursor}); refusal.CodeOf(err) != refusal.CursorInvalid {
					t.Fatalf("%s with %q: %v", what, cursor, err)
				}
			}
			if cursor != list.Next {
				_, err = r.s.List(r.ctx, by("a"), wire.Page{Cursor: cursor})
				r.refused(err, refusal.CursorInvalid)
			}
		}
	}},
	{"a read of the wrong kind of region, or of one that is not there, says so", func(t *testing.T, r *rig) {
		r.create()
		for range 2 {
			_, err := r.s.Level(r.ctx, by("a"), name, "window", wire.Page{})
			r.refused(err, refusal.WrongKind)
			_, err = r.s.Premise(r.ctx, by("a"), name, "facts")
			r.refused(err, refusal.WrongKind)
			for _, region := range []string{"nowhere", ""} {
				_, err = r.s.Level(r.ctx, by("a"), name, region, wire.Page{})
				r.refused(err, refusal.UnknownRegion)
				_, err = r.s.Premise(r.ctx, by("a"), name, region)
				r.refused(err, refusal.UnknownRegion)
			}
			r.level("a", "facts", `1`)
			r.set("a", "window")
		}
	}},
	{"boards are listed by name, page by page, each tenant's own", func(t *testing.T, r *rig) {
		names := []id.Board{"B", "a", "a.b", "b", "b b", "é"}
		for _, b := range []id.Board{"b", "é", "a", "b b", "B", "a.b"} {
			r.make(wire.CreateBoard{Board: b})
		}
		r.many(3, board.Callables{})
		for limit := 1; limit < 8; limit++ {
			var got []id.Board
			page := wire.Page{Limit: limit}
			for {
				p, err := r.s.List(r.ctx, by("a"), page)
				r.ok(err)
				if len(p.Boards) > limit {
					t.Fatalf("%d boards with limit %d", len(p.Boards), limit)
				}
				for _, b := range p.Boards {
					got = append(got, b.Board)
				}
				if page.Cursor = p.Next; p.Next == "" {
					break
				}
			}
			equal(t, fmt.Sprintf("boards by %d", limit), fmt.Sprint(got), fmt.Sprint(names))
		}
	}},
}

// many1200 writes 1,200 entries in as few transactions as it can.
func (r *rig) many1200() {
	r.t.Helper()
	for range 12 {
		r.decide(func(st *board.State, env board.Env) {
			for range 100 {
				if _, err := st.WriteLevel(env, "a", wire.LevelWrite{Region: "facts", Content: raw(`1`)}, board.Verdict{}); err != nil {
					r.t.Fatal(err)
				}
			}
		})
	}
}

var surface = []sentence{
	{"an agent sees the board through four reads and three writes without naming itself", func(t *testing.T, r *rig) {
		r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		a, b := r.as("watcher"), r.as("other")
		r.wrote(b.WriteLevel(r.ctx, wire.LevelWrite{Region: "facts", Content: raw(`1`)}))
		r.wrote(b.WritePremise(r.ctx, wire.PremiseWrite{Region: "window", Content: raw(`2`)}))
		r.ok(a.Acknowledge(r.ctx, wire.Acknowledge{Through: 2}))
		regions, err := a.Regions(r.ctx)
		r.ok(err)
		equal(t, "regions", len(regions), 4)
		l, err := a.Level(r.ctx, "facts", wire.Page{})
		r.ok(err)
		p, err := a.Premise(r.ctx, "window")
		r.ok(err)
		c, err := a.Changes(r.ctx, wire.Page{})
		r.ok(err)
		if len(l.Entries) != 1 || l.Entries[0].Writer != "other" || string(p.Value) != `2` || len(c.Entries) != 2 {
			t.Fatalf("%+v %+v %+v", l, p, c)
		}
		equal(t, "cursor", r.agent("watcher").Cursor, 2)
	}},
	{"hidden regions are not there for an agent, and in changes their positions carry no content", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "facts", Kind: wire.Level}, {Name: "_notes", Kind: wire.Level}, {Name: "_key", Kind: wire.Premise}}})
		r.level("a", "facts", `1`)
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "_notes", Content: raw(`"hidden"`), Key: "k", Blobs: []id.Digest{r.put("x")}}))
		r.premise("a", "_key", 0, `"hidden"`)
		r.level("a", "facts", `2`)
		a := r.as("a")
		list, err := a.Regions(r.ctx)
		r.ok(err)
		if len(list) != 1 || list[0].Name != "facts" {
			t.Fatalf("%+v", list)
		}
		for _, region := range []string{"_notes", "_key", "_nowhere", ""} {
			_, err = a.Level(r.ctx, region, wire.Page{})
			got := r.refused(err, refusal.UnknownRegion)
			_, err = a.Premise(r.ctx, region)
			r.refused(err, refusal.UnknownRegion)
			_, err = a.WriteLevel(r.ctx, wire.LevelWrite{Region: region, Content: raw(`1`)})
			r.refused(err, refusal.UnknownRegion)
			_, err = a.WritePremise(r.ctx, wire.PremiseWrite{Region: region, Expect: 1, Content: raw(`1`)})
			r.refused(err, refusal.UnknownRegion)
			if got.Fix != "it has: facts" {
				t.Fatalf("the refusal tells of more: %v", got)
			}
		}
		c, err := a.Changes(r.ctx, wire.Page{})
		r.ok(err)
		equal(t, "positions", fmt.Sprint(seqs(c)), "[1 2 3 4]")
		for _, e := range c.Entries[1:3] {
			if !e.Hidden || e.Content != nil || e.Digest != "" || e.Key != "" || e.Writer != "" || e.Blobs != nil || e.Version != 0 {
				t.Fatalf("%+v", e)
			}
		}
		if e := c.Entries[3]; e.Hidden || string(e.Content) != `2` {
			t.Fatalf("%+v", e)
		}
		full := r.changes()
		if string(full[1].Content) != `"hidden"` || full[1].Hidden {
			t.Fatalf("the application reads %+v", full[1])
		}
	}},
}
