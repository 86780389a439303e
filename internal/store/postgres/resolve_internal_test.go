package postgres

import "testing"

func TestJudge(t *testing.T) {
	wrote := &written{from: 7, to: 8, seq: 3, salt: []byte("mine")}
	plain := &written{from: 7, to: 8}
	gone := &written{from: 7, to: -1}
	const batch = 42
	for _, c := range []struct {
		name string
		tr   trace
		w    *written
		want verdict
	}{
		{"the server says committed", trace{lifetime: "now", status: "committed"}, wrote, kept},
		{"the server says aborted", trace{lifetime: "now", status: "aborted", found: true, rev: 8}, wrote, notKept},
		{"still running", trace{lifetime: "now", status: "in progress"}, wrote, running},
		{"too long ago for the server, but the row tells", trace{lifetime: "now", found: true, rev: 8, batch: batch}, wrote, kept},
		{"too long ago for the server", trace{lifetime: "now", found: true, rev: 9}, plain, unknown},

		{"after a crash, its number is not given out yet", trace{lifetime: "then"}, wrote, notKept},
		{"after a crash, aborted", trace{lifetime: "then", status: "aborted"}, wrote, notKept},
		{"after a crash, the row is its own", trace{lifetime: "then", status: "committed", found: true, rev: 8, batch: batch}, plain, kept},
		{"after a crash, the row is another's with its number", trace{lifetime: "then", status: "committed", found: true, rev: 8, batch: 1}, plain, notKept},
		{"after a crash, the row is as it was", trace{lifetime: "then", status: "committed", found: true, rev: 7, batch: 1}, plain, notKept},
		{"after a crash, written over, the entry is its own", trace{lifetime: "then", status: "committed", found: true, rev: 9, salt: []byte("mine")}, wrote, kept},
		{"after a crash, written over, the entry is another's", trace{lifetime: "then", status: "committed", found: true, rev: 9, salt: []byte("other")}, wrote, notKept},
		{"after a crash, written over, without an entry", trace{lifetime: "then", status: "committed", found: true, rev: 9}, plain, unknown},
		{"after a crash, deleted since", trace{lifetime: "then", status: "committed"}, plain, unknown},
		{"after a crash, it deleted the board", trace{lifetime: "then", status: "committed"}, gone, unknown},
		{"after a crash, it wrote no board", trace{lifetime: "then", status: "committed"}, nil, unknown},
	} {
		if got := c.tr.judge("now", batch, c.w); got != c.want {
			t.Errorf("%s: %d instead of %d", c.name, got, c.want)
		}
	}
}
