package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// same fails the test unless both are deeply equal.
func (s *suite) same(what string, got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Fatalf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

func seqs(entries []board.Entry) []id.Seq {
	out := []id.Seq{}
	for _, e := range entries {
		out = append(out, e.Seq)
	}
	return out
}

func names(rows []board.Row) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Ref.String())
	}
	return out
}

// digest is the digest of a text.
func digest(text string) id.Digest {
	sum := sha256.Sum256([]byte(text))
	return id.Digest(hex.EncodeToString(sum[:]))
}
