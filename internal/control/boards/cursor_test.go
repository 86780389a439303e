package boards

import (
	"encoding/base64"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

func TestACursorComesBackAsItWasGiven(t *testing.T) {
	for _, identity := range []string{"", "x", "0190-a.b.c", "0190b5e6-7d5f-7a3b-8c9d-112233445566", "日本語日本語"} {
		s := &Service{info: board.Info{Identity: identity, Epoch: 3}}
		for _, seq := range []id.Seq{0, 1, 1 << 62} {
			if got, err := s.parseCursor(s.cursor(seq)); err != nil || got != seq {
				t.Errorf("identity %q: %d became %d, %v", identity, seq, got, err)
			}
		}
		for _, b := range []id.Board{"a", "a.b.c", "1.2", "é"} {
			if got, err := s.parseListCursor(s.listCursor(b)); err != nil || got != b {
				t.Errorf("identity %q: %q became %q, %v", identity, b, got, err)
			}
		}
		if _, err := s.parseCursor(s.listCursor("1")); refusal.CodeOf(err) != refusal.CursorInvalid {
			t.Errorf("a cursor of the list reads entries: %v", err)
		}
	}
}

// FuzzCursor holds that a cursor from anywhere is a position of this store or a
// refusal, and that the position's own cursor leads to it again.
func FuzzCursor(f *testing.F) {
	s := &Service{info: board.Info{Identity: "0190b5e6-7d5f-7a3b-8c9d-112233445566", Epoch: 1}}
	for _, seed := range []string{"", "x", s.cursor(7), s.listCursor("b"), base64.RawURLEncoding.EncodeToString([]byte("1.1..5"))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		seq, err := s.parseCursor(cursor)
		if err != nil {
			if code := refusal.CodeOf(err); code != refusal.CursorInvalid && code != refusal.CursorGap {
				t.Fatal(err)
			}
			return
		}
		if again, err := s.parseCursor(s.cursor(seq)); err != nil || again != seq || seq < 0 {
			t.Fatalf("%d, %d, %v", seq, again, err)
		}
	})
}
