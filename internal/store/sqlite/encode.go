package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
	"zombiezen.com/go/sqlite"
)

const digestSize = 32

// digest binds a digest as its bytes, NULL for none.
func (q *query) digest(d id.Digest) *query {
	if d == "" {
		return q.null()
	}
	var b [digestSize]byte
	if err := digestBytes(b[:], d); err != nil {
		if q.err == nil {
			q.err = err
		}
		return q.null()
	}
	return q.blob(b[:])
}

// digests binds digests one after the other, NULL for none.
func (q *query) digests(all []id.Digest) *query {
	if len(all) == 0 {
		return q.null()
	}
	b := make([]byte, digestSize*len(all))
	for i, d := range all {
		if err := digestBytes(b[i*digestSize:(i+1)*digestSize], d); err != nil && q.err == nil {
			q.err = err
		}
	}
	return q.blob(b)
}

func digestBytes(b []byte, d id.Digest) error {
	if len(d) != 2*digestSize {
		return fmt.Errorf("digest %q is not a SHA-256 in hexadecimal", d)
	}
	if _, err := hex.Decode(b, []byte(d)); err != nil {
		return fmt.Errorf("digest %q: %w", d, err)
	}
	return nil
}

// readDigests reads what digests bound.
func readDigests(stmt *sqlite.Stmt, col int) []id.Digest {
	n := stmt.ColumnLen(col) / digestSize
	if n == 0 {
		return nil
	}
	b := make([]byte, n*digestSize)
	stmt.ColumnBytes(col, b)
	out := make([]id.Digest, n)
	for i := range out {
		out[i] = id.Digest(hex.EncodeToString(b[i*digestSize : (i+1)*digestSize]))
	}
	return out
}

// readDigest reads what digest bound.
func readDigest(stmt *sqlite.Stmt, col int) id.Digest {
	var b [digestSize]byte
	if stmt.ColumnBytes(col, b[:]) < digestSize {
		return ""
	}
	return id.Digest(hex.EncodeToString(b[:]))
}

// list binds names as a JSON array, NULL for none.
func (q *query) list(names []string) *query {
	if len(names) == 0 {
		return q.null()
	}
	return q.json(names)
}

// names binds a set of names; unset is NULL, which is not the empty set.
func (q *query) names(n wire.Names) *query {
	if !n.Set {
		return q.null()
	}
	if len(n.Names) == 0 {
		return q.text("[]")
	}
	return q.json(n.Names)
}

func (q *query) json(names []string) *query {
	b, err := json.Marshal(names)
	if err != nil && q.err == nil {
		q.err = err
	}
	return q.text(string(b))
}

func readList(stmt *sqlite.Stmt, col int) ([]string, error) {
	if stmt.ColumnIsNull(col) {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(stmt.ColumnText(col)), &names); err != nil {
		return nil, fmt.Errorf("a list of names: %w", err)
	}
	if len(names) == 0 {
		names = nil
	}
	return names, nil
}

func readNames(stmt *sqlite.Stmt, col int) (wire.Names, error) {
	names, err := readList(stmt, col)
	return wire.Names{Set: !stmt.ColumnIsNull(col), Names: names}, err
}
