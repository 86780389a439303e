package boardtest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var record = []sentence{
	{"one counter serves every region of a board, from 1", func(t *testing.T, r *rig) {
		r.create()
		equal(t, "head of an empty board", r.show().Head, 0)
		equal(t, "level", r.level("a", "facts", `1`).Seq, 1)
		equal(t, "premise", r.premise("a", "window", 0, `2`).Seq, 2)
		equal(t, "another level", r.level("b", "ideas", `3`).Seq, 3)
		equal(t, "another premise", r.premise("b", "goal", 0, `4`).Seq, 4)
		for i, e := range r.changes() {
			equal(t, "position", e.Seq, id.Seq(i+1))
		}
		equal(t, "head", r.show().Head, 4)
	}},
	{"boards count apart", func(t *testing.T, r *rig) {
		r.create()
		r.make(wire.CreateBoard{Board: "other"})
		r.level("a", "facts", `1`)
		res, err := r.s.WriteLevel(r.ctx, by("a"), "other", wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		equal(t, "first write of the other board", r.wrote(res, err).Seq, 1)
	}},
	{"a level accumulates and what it holds does not change", func(t *testing.T, r *rig) {
		r.create()
		for _, c := range []string{`"one"`, `"two"`, `"one"`} {
			w := r.level("a", "facts", c)
			equal(t, "version of a level write", w.Version, 0)
		}
		p, err := r.s.Level(r.ctx, by("a"), name, "facts", wire.Page{})
		r.ok(err)
		got := ""
		for _, e := range p.Entries {
			got += string(e.Content)
		}
		equal(t, "contributions", got, `"one""two""one"`)
		equal(t, "count", regionOf(t, r, "facts").Count, 3)
	}},
	{"a premise without an opening value has version 0", func(t *testing.T, r *rig) {
		r.create()
		p, err := r.s.Premise(r.ctx, by("a"), name, "window")
		r.ok(err)
		if p.Version != 0 || p.Value != nil || p.Seq != 0 {
			t.Fatalf("%+v", p)
		}
	}},
	{"a premise write replaces the value and makes the next version", func(t *testing.T, r *rig) {
		r.create()
		for i, c := range []string{`"12:00"`, `"12:05"`, `"12:10"`} {
			w := r.premise("a", "window", id.Version(i), c)
			equal(t, "version", w.Version, id.Version(i+1))
			p, err := r.s.Premise(r.ctx, by("a"), name, "window")
			r.ok(err)
			if string(p.Value) != c || p.Version != w.Version || p.Seq != w.Seq || p.Writer != "a" || !p.At.Equal(w.At) {
				t.Fatalf("%+v after %+v", p, w)
			}
		}
	}},
	{"a conflict changes nothing, takes no sequence number and returns the current version", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Hour}})
		r.premise("a", "window", 0, `1`)
		r.premise("a", "window", 1, `2`)
		r.clock.move(time.Minute)
		before := r.facts()
		for _, expect := range []id.Version{0, 1, 3, -1, 1 << 40} {
			res, err := r.s.WritePremise(r.ctx, by("b"), name, wire.PremiseWrite{Region: "window", Expect: expect, Content: raw(`3`)})
			c := r.conflict(res, err)
			if c.Current != 2 || c.Expected != expect {
				t.Fatalf("%+v", c)
			}
		}
		res, err := r.s.WritePremise(r.ctx, by("b"), name, wire.PremiseWrite{Region: "goal", Expect: 1, Content: raw(`3`)})
		equal(t, "current version of a premise without a value", r.conflict(res, err).Current, 0)
		after := r.facts()
		if after.Row.Rev != before.Row.Rev || after.Row.Head != 2 || !after.Row.Run.Activity.Equal(before.Row.Run.Activity) {
			t.Fatalf("%+v became %+v", before.Row, after.Row)
		}
		equal(t, "next write", r.premise("b", "window", 2, `3`).Seq, 3)
	}},
	{"a write without content clears a premise and is a version like any other", func(t *testing.T, r *rig) {
		r.create()
		r.premise("a", "window", 0, `1`)
		w := r.premise("a", "window", 1, "")
		equal(t, "version", w.Version, 2)
		p, err := r.s.Premise(r.ctx, by("a"), name, "window")
		r.ok(err)
		if p.Version != 2 || p.Value != nil || p.Seq != 2 || p.Erased != nil {
			t.Fatalf("%+v", p)
		}
		e := r.changes()[1]
		if e.Content != nil || e.Digest != "" || e.Version != 2 {
			t.Fatalf("%+v", e)
		}
		equal(t, "version of the next value", r.premise("a", "window", 2, `null`).Version, 3)
		p, err = r.s.Premise(r.ctx, by("a"), name, "window")
		r.ok(err)
		equal(t, "null is a value", string(p.Value), `null`)
	}},
	{"every write carries its writer and the instant the store stamped", func(t *testing.T, r *rig) {
		r.create()
		r.clock.move(1234567 * time.Nanosecond)
		want := start.Add(1234 * time.Microsecond)
		w := r.level("night job", "facts", `1`)
		e := r.changes()[0]
		if e.Writer != "night job" || !e.At.Equal(want) || !w.At.Equal(want) || e.At.Location() != time.UTC {
			t.Fatalf("written %v, entry by %q at %v, want %v", w.At, e.Writer, e.At, want)
		}
	}},
	{"no write checks that its writer registered", func(t *testing.T, r *rig) {
		r.create(wire.AgentDecl{Name: "a", WritesTo: wire.Only()})
		r.level("an operator", "facts", `1`)
		r.premise("a supervisor", "window", 0, `1`)
	}},
	{"instants on a board never decrease, also when the clock goes back", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		for _, d := range []time.Duration{time.Hour, -3 * time.Hour, time.Minute, 72 * time.Hour, -time.Microsecond} {
			r.clock.move(d)
			r.level("a", "facts", `1`)
			r.again().level("a", "facts", `1`)
		}
		at := start
		for _, e := range r.changes() {
			if e.At.Before(at) {
				t.Fatalf("entry %d at %v after %v", e.Seq, e.At, at)
			}
			at = e.At
		}
		equal(t, "last instant", at, start.Add(70*time.Hour+time.Minute))
	}},
	{"the digest is the SHA-256 of the entry's salt and content, and salts differ", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `"x"`)
		r.level("a", "facts", `"x"`)
		rows, _, err := r.store.Entries(r.ctx, ref, board.EntryQuery{Limit: 10})
		r.ok(err)
		for _, e := range rows {
			sum := sha256.Sum256(append(append([]byte(nil), e.Salt...), e.Content...))
			if len(e.Salt) < 16 || string(e.Digest) != hex.EncodeToString(sum[:]) {
				t.Fatalf("salt %x, digest %s", e.Salt, e.Digest)
			}
		}
		if rows[0].Digest == rows[1].Digest {
			t.Fatal("equal content can be told from its digest")
		}
	}},
	{"tenants do not see each other's boards", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `"ours"`)
		theirs := control.Principal{Tenant: "another", Name: "a"}
		_, err := r.s.Show(r.ctx, theirs, name)
		r.refused(err, refusal.UnknownBoard)
		_, err = r.s.WriteLevel(r.ctx, theirs, name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		r.refused(err, refusal.UnknownBoard)
		_, err = r.s.Create(r.ctx, theirs, defaults(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}}}), board.Callables{})
		r.ok(err)
		res, err := r.s.WriteLevel(r.ctx, theirs, name, wire.LevelWrite{Region: "notes", Content: raw(`"theirs"`), Key: "k"})
		equal(t, "their first write", r.wrote(res, err).Seq, 1)
		list, err := r.s.List(r.ctx, theirs, wire.Page{})
		r.ok(err)
		equal(t, "their boards", len(list.Boards), 1)
		r.ok(r.s.Delete(r.ctx, theirs, name))
		if e := r.changes(); len(e) != 1 || string(e[0].Content) != `"ours"` {
			t.Fatalf("%+v", e)
		}
	}},
	{"names keep every character and compare byte for byte", func(t *testing.T, r *rig) {
		names := []string{
			"a", "A", "é", "e\u0301", "'; DROP TABLE boards; --", `"quoted"`, "100%_\\", "null", "NULL", "0", "-1", "a/b", "a.b",
			"a b", "日本語", "👩‍🚒", "\u202eright to left", "\u2028", "\ufeffmark", "\ufffd", "\u017f", "s", "\u212a", "K", "$1", "?1", "{}", "[0]", "#",
			strings.Repeat("x", id.MaxName), strings.Repeat("é", id.MaxName/2),
		}
		var decls []wire.RegionDecl
		var who []wire.AgentDecl
		for i, n := range names {
			decls = append(decls, wire.RegionDecl{Name: n, Kind: []wire.Kind{wire.Level, wire.Premise}[i%2]})
			who = append(who, wire.AgentDecl{Name: n, Address: n, SubscribesTo: wire.Only(n)})
		}
		for i, n := range names {
			at, err := r.s.Create(r.ctx, by(n), wire.CreateBoard{Board: id.Board(n), Regions: decls, Agents: who}, board.Callables{})
			if err != nil || at.Run != 1 {
				t.Fatalf("board %q: %+v %v", n, at, err)
			}
			var res wire.Result
			if i%2 == 0 {
				res, err = r.s.WriteLevel(r.ctx, by(n), id.Board(n), wire.LevelWrite{Region: n, Content: raw(`1`), Key: n})
			} else {
				res, err = r.s.WritePremise(r.ctx, by(n), id.Board(n), wire.PremiseWrite{Region: n, Content: raw(`1`), Key: n})
			}
			equal(t, n, r.wrote(res, err).Seq, 1)
		}
		other := r.again()
		for _, n := range names {
			p, err := other.s.Changes(r.ctx, by(n), id.Board(n), wire.Page{})
			r.ok(err)
			if len(p.Entries) != 1 || p.Entries[0].Region != n || p.Entries[0].Writer != n || p.Entries[0].Key != n {
				t.Fatalf("board %q holds %+v", n, p.Entries)
			}
			v, err := other.s.Show(r.ctx, by(n), id.Board(n))
			r.ok(err)
			if len(v.Regions) != len(names) || len(v.Run.Agents) != len(names) {
				t.Fatalf("board %q: %d regions and %d agents", n, len(v.Regions), len(v.Run.Agents))
			}
		}
	}},
}

// regionOf is one region as the board shows it.
func regionOf(t *testing.T, r *rig, region string) wire.Region {
	t.Helper()
	for _, reg := range r.show().Regions {
		if reg.Name == region {
			return reg
		}
	}
	t.Fatalf("no region %s", region)
	return wire.Region{}
}
