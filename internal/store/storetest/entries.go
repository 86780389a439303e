package storetest

import (
	"bytes"
	"fmt"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

var entryTests = []test{
	{name: "an entry comes back as it was written", run: func(s *suite) {
		s.blob("one")
		s.blob("two")
		full := board.Entry{Salt: []byte{0, 1, 255}, Entry: wire.Entry{Seq: 1, Region: "status", Kind: wire.Premise, Version: 3,
			Writer: "ann", At: s.instant(5), Key: "key", Content: []byte(`{"a": [1, 2]}`), Digest: digest("full"),
			Blobs: []id.Digest{digest("two"), digest("one"), digest("two")}}}
		bare := board.Entry{Entry: wire.Entry{Seq: 2, Region: "notes", Kind: wire.Level, Content: []byte(`null`)}}
		cleared := board.Entry{Salt: []byte("salt"), Entry: wire.Entry{Seq: 3, Region: "status", Kind: wire.Premise, Version: 4,
			Writer: "ann", At: s.instant(6), Digest: digest("cleared")}}
		s.write(s.create(ref("a")), full, bare, cleared)
		got, head := s.read(ref("a"), board.EntryQuery{})
		s.same("entries", got, []board.Entry{full, bare, cleared})
		s.same("head", head, id.Seq(3))
		f := s.look(board.Want{Ref: ref("a"), Keys: []string{"key", "none", ""}, Entries: []id.Seq{3, 4, 0}})
		s.same("by key", f.Keys, map[string]board.Entry{"key": full})
		s.same("by number", f.Entries, map[id.Seq]board.Entry{3: cleared})
	}},
	{name: "content is kept byte for byte", run: func(s *suite) {
		large := []byte(`"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"`)
		contents := [][]byte{
			[]byte(" \t\r\n{ \"a\" :\t1 ,\r\n\"a\":1.0e+00 }\n "), []byte(`"\u00e9 é \ud83d\ude42 🙂 \/ \u2028"`),
			[]byte(`12345678901234567890.10`), []byte(`""`), []byte(`[]`), []byte("\"\x7f\""), large,
		}
		row := s.create(ref("a"))
		for i, c := range contents {
			e := s.level(id.Seq(i + 1))
			e.Content = c
			row = s.write(row, e)
		}
		got, _ := s.read(ref("a"), board.EntryQuery{})
		for i, c := range contents {
			if !bytes.Equal(got[i].Content, c) {
				s.Errorf("content %d: %.80q", i, got[i].Content)
			}
		}
	}},
	{name: "a page is after and through, by region, oldest or newest first, up to the limit", run: func(s *suite) {
		row := s.create(ref("a"))
		const n = 700 // more than a store would keep in one piece
		var all []board.Entry
		for i := id.Seq(1); i <= n; i++ {
			e := s.level(i)
			if i%3 == 0 {
				e.Region, e.Kind, e.Version = "status", wire.Premise, id.Version(i/3)
			}
			all = append(all, e)
		}
		s.write(row, all...)
		other := s.create(ref("b"))
		s.write(other, s.level(1))
		for _, q := range []board.EntryQuery{
			{}, {Limit: 1}, {Limit: 5}, {After: 3, Limit: 4}, {After: n}, {After: n + 5}, {After: n - 1},
			{Through: 10}, {After: 5, Through: 10, Limit: 3}, {After: 10, Through: 5}, {Through: n + 50, After: n - 3},
			{After: 250, Through: 260}, {After: 510, Through: 514}, {After: 255, Limit: 2}, {Limit: n + 1},
		} {
			for _, region := range []string{"", "notes", "status", "none"} {
				for _, newest := range []bool{false, true} {
					q := q
					q.Region, q.Newest = region, newest
					if q.Limit == 0 {
						q.Limit = 6
					}
					got, head := s.read(ref("a"), q)
					s.same(fmt.Sprintf("%+v", q), seqs(got), selected(all, q))
					s.same("head", head, id.Seq(n))
				}
			}
		}
	}},
	{name: "a board that does not exist has no entries", run: func(s *suite) {
		got, head := s.read(ref("none"), board.EntryQuery{})
		if len(got) != 0 || head != 0 {
			s.Fatalf("%v up to %d", got, head)
		}
	}},
	{name: "a page without a limit is a defect", run: func(s *suite) {
		s.create(ref("a"))
		if _, _, err := s.s.Entries(s.ctx, ref("a"), board.EntryQuery{}); err == nil {
			s.Fatal("it was not")
		}
	}},
	{name: "erasing takes content and salt and leaves the tombstone", run: func(s *suite) {
		e := s.level(1)
		e.Key = "k"
		row := s.write(s.create(ref("a")), e, s.level(2))
		row.Rev++
		erasure := wire.Erasure{At: s.instant(77), By: "officer", Reason: "asked for"}
		s.change(board.Change{Row: row, Erase: []board.Tombstone{{Seq: 1, Erasure: erasure}}})
		want := e
		want.Content, want.Salt, want.Erased = nil, nil, &erasure
		got, head := s.read(ref("a"), board.EntryQuery{})
		s.same("entries", got, []board.Entry{want, s.level(2)})
		s.same("head", head, id.Seq(2))
		f := s.look(board.Want{Ref: ref("a"), Keys: []string{"k"}, Entries: []id.Seq{1}})
		s.same("by key", f.Keys["k"], want)
		s.same("by number", f.Entries[1], want)
	}},
	{name: "an entry written in the transaction can be erased in it", run: func(s *suite) {
		row := s.create(ref("a"))
		s.change(board.Change{Row: advance(row, s.level(1)), Entries: []board.Entry{s.level(1)},
			Erase: []board.Tombstone{{Seq: 1, Erasure: wire.Erasure{At: s.instant(1), By: "x"}}}})
		got, _ := s.read(ref("a"), board.EntryQuery{})
		if len(got) != 1 || got[0].Erased == nil || got[0].Content != nil || got[0].Salt != nil {
			s.Fatalf("%+v", got)
		}
	}},
	{name: "an entry that does not exist cannot be erased", run: func(s *suite) {
		row := s.write(s.create(ref("a")), s.level(1))
		row.Rev++
		if s.try(board.Changes{Boards: []board.Change{{Row: row, Erase: []board.Tombstone{{Seq: 2, Erasure: wire.Erasure{By: "x"}}}}}}) == nil {
			s.Fatal("it was")
		}
	}},
	{name: "an entry's region is one of the board's", run: func(s *suite) {
		row := s.create(ref("a"))
		e := s.level(1)
		e.Region = "none"
		if s.try(board.Changes{Boards: []board.Change{{Row: advance(row, e), Entries: []board.Entry{e}}}}) == nil {
			s.Fatal("it was not")
		}
	}},
}

// selected is what a query selects, worked out the plain way.
func selected(all []board.Entry, q board.EntryQuery) []id.Seq {
	out := []id.Seq{}
	for i := range all {
		e := all[i]
		if q.Newest {
			e = all[len(all)-1-i]
		}
		if e.Seq > q.After && (q.Through == 0 || e.Seq <= q.Through) && (q.Region == "" || e.Region == q.Region) && len(out) < q.Limit {
			out = append(out, e.Seq)
		}
	}
	return out
}
