package boards

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// A cursor is opaque to its holder. It carries the store's identity and epoch, so
// that one from another store, or from before a restore, is answered with an
// explicit gap and never with silence.

// The first letter of a cursor says what it goes through.
const (
	cursorEntries = "1"
	cursorBoards  = "b"
)

// cursor is the position after seq.
func (s *Service) cursor(seq id.Seq) string {
	return s.seal(cursorEntries, strconv.FormatInt(int64(seq), 10))
}

// listCursor is the place after a board's name.
func (s *Service) listCursor(b id.Board) string { return s.seal(cursorBoards, string(b)) }

func (s *Service) seal(kind, at string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s.%d.%s.%s", kind, s.info.Epoch, s.mark(), at))
}

// mark is enough of the store's identity to tell two stores apart. The tail of an
// identifier is its random part.
func (s *Service) mark() string {
	tail := s.info.Identity[max(0, len(s.info.Identity)-8):]
	return base64.RawURLEncoding.EncodeToString([]byte(tail))
}

// parseCursor returns the position that a cursor continues after.
func (s *Service) parseCursor(cursor string) (id.Seq, error) {
	if cursor == "" {
		return 0, nil
	}
	at, err := s.unseal(cursorEntries, cursor)
	if err != nil {
		return 0, err
	}
	seq, err := strconv.ParseUint(at, 10, 63)
	if err != nil {
		return 0, invalid(cursor)
	}
	return id.Seq(seq), nil
}

// parseListCursor returns the name that a cursor continues after.
func (s *Service) parseListCursor(cursor string) (id.Board, error) {
	if cursor == "" {
		return "", nil
	}
	at, err := s.unseal(cursorBoards, cursor)
	if err == nil && id.CheckName("board", at) != nil {
		err = invalid(cursor)
	}
	return id.Board(at), err
}

// unseal returns what seal was given.
func (s *Service) unseal(kind, cursor string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", invalid(cursor)
	}
	parts := strings.SplitN(string(raw), ".", 4)
	if len(parts) != 4 || parts[0] != kind {
		return "", invalid(cursor)
	}
	epoch, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return "", invalid(cursor)
	}
	switch {
	case parts[2] != s.mark():
		return "", gap(cursor, "the cursor belongs to another store")
	case id.Epoch(epoch) != s.info.Epoch:
		return "", gap(cursor, "the cursor belongs to epoch %d, the store is in epoch %d", epoch, s.info.Epoch)
	}
	return parts[3], nil
}

func invalid(cursor string) *refusal.Refusal {
	return refusal.New(refusal.CursorInvalid, cursor, "the cursor is not one that this system gave").
		WithFix("begin without a cursor, or continue with the next of a page")
}

func gap(cursor, format string, args ...any) *refusal.Refusal {
	return refusal.New(refusal.CursorGap, cursor, format, args...).
		WithFix("what lies between cannot be replayed: read the board anew from the start")
}
