package boards

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// A cursor is opaque to its holder. It carries the store's identity and epoch, so
// that one from another store, or from before a restore, is answered with an
// explicit gap and never with silence.

// cursor is the position after seq.
func (s *Service) cursor(seq id.Seq) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "1.%s.%d.%d", s.mark(), s.info.Epoch, seq))
}

// mark is enough of the store's identity to tell two stores apart. The tail of an
// identifier is its random part.
func (s *Service) mark() string { return s.info.Identity[max(0, len(s.info.Identity)-8):] }

// parseCursor returns the position that a cursor continues after.
func (s *Service) parseCursor(cursor string) (id.Seq, error) {
	if cursor == "" {
		return 0, nil
	}
	invalid := refusal.New(refusal.CursorInvalid, cursor, "the cursor is not one that this system gave").
		WithFix("begin without a cursor, or continue with the next of a page")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, invalid
	}
	parts := strings.Split(string(raw), ".")
	if len(parts) != 4 || parts[0] != "1" {
		return 0, invalid
	}
	var epoch, seq int64
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "%d %d", &epoch, &seq); err != nil || seq < 0 {
		return 0, invalid
	}
	switch {
	case parts[1] != s.mark():
		return 0, gap(cursor, "the cursor belongs to another store")
	case id.Epoch(epoch) != s.info.Epoch:
		return 0, gap(cursor, "the cursor belongs to epoch %d, the store is in epoch %d", epoch, s.info.Epoch)
	}
	return id.Seq(seq), nil
}

func gap(cursor, format string, args ...any) *refusal.Refusal {
	return refusal.New(refusal.CursorGap, cursor, format, args...).
		WithFix("what lies between cannot be replayed: read the board anew from the start")
}
