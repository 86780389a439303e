package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// args are the parameters of one run of a statement, in PostgreSQL's binary form and
// in order. The first error is kept. They are used again for the next statement: a
// value is copied when the statement is put into a trip.
type args struct {
	values [][]byte
	buf    []byte
	err    error
}

func (a *args) reset() *args {
	a.values, a.buf, a.err = a.values[:0], a.buf[:0], nil
	return a
}

// tail adds what was appended to buf since start as one value. A value that was
// added before keeps its bytes even when buf has moved.
func (a *args) tail(start int) *args {
	a.values = append(a.values, a.buf[start:len(a.buf):len(a.buf)])
	return a
}

func (a *args) null() *args {
	a.values = append(a.values, nil)
	return a
}

func (a *args) int(v int64) *args {
	start := len(a.buf)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
	return a.tail(start)
}

// int4 binds a tenant's number.
func (a *args) int4(v int32) *args {
	start := len(a.buf)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(v))
	return a.tail(start)
}

func (a *args) bool(v bool) *args {
	start := len(a.buf)
	a.buf = appendBool(a.buf, v)
	return a.tail(start)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func (a *args) text(v string) *args {
	start := len(a.buf)
	a.buf = append(a.buf, v...)
	return a.tail(start)
}

// optText binds NULL for an empty text.
func (a *args) optText(v string) *args {
	if v == "" {
		return a.null()
	}
	return a.text(v)
}

// blob binds a value, which may be empty, without copying it.
func (a *args) blob(v []byte) *args {
	if v == nil {
		v = []byte{}
	}
	a.values = append(a.values, v)
	return a
}

// bytes binds NULL for an empty value.
func (a *args) bytes(v []byte) *args {
	if len(v) == 0 {
		return a.null()
	}
	return a.blob(v)
}

// at binds an instant, NULL for the zero instant.
func (a *args) at(t time.Time) *args {
	if t.IsZero() {
		return a.null()
	}
	return a.int(instantOf(t))
}

// epoch is where PostgreSQL's instants begin, in microseconds since 1970.
const epoch = 946684800 * 1_000_000

// instantOf is an instant as PostgreSQL counts it.
func instantOf(t time.Time) int64 { return t.UnixMicro() - epoch }

const digestSize = 32

// digest binds a digest as its bytes, NULL for none.
func (a *args) digest(d id.Digest) *args {
	if d == "" {
		return a.null()
	}
	start := len(a.buf)
	a.buf = a.appendDigest(a.buf, d)
	return a.tail(start)
}

func (a *args) appendDigest(b []byte, d id.Digest) []byte {
	if len(d) != 2*digestSize {
		a.fail(fmt.Errorf("digest %q is not a SHA-256 in hexadecimal", d))
		return append(b, make([]byte, digestSize)...)
	}
	start := len(b)
	b = append(b, make([]byte, digestSize)...)
	if _, err := hex.Decode(b[start:], []byte(d)); err != nil {
		a.fail(fmt.Errorf("digest %q: %w", d, err))
	}
	return b
}

func (a *args) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// array binds n elements, which elem appends; an element for which it reports false
// is NULL.
func (a *args) array(oid uint32, n int, elem func(i int, b []byte) ([]byte, bool)) *args {
	start := len(a.buf)
	b := appendArrayHeader(a.buf, oid, n)
	for i := range n {
		at := len(b)
		b = append(b, 0, 0, 0, 0)
		var some bool
		if b, some = elem(i, b); !some {
			b = b[:at+4]
			binary.BigEndian.PutUint32(b[at:], math.MaxUint32)
		} else {
			binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
		}
	}
	a.buf = b
	return a.tail(start)
}

func appendArrayHeader(b []byte, oid uint32, n int) []byte {
	if n == 0 {
		b = binary.BigEndian.AppendUint32(b, 0)
		b = binary.BigEndian.AppendUint32(b, 0)
		return binary.BigEndian.AppendUint32(b, oid)
	}
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, 1) // there may be NULLs
	b = binary.BigEndian.AppendUint32(b, oid)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return binary.BigEndian.AppendUint32(b, 1)
}

func (a *args) ints(n int, v func(i int) int64) *args {
	return a.array(pgtype.Int8OID, n, func(i int, b []byte) ([]byte, bool) {
		return binary.BigEndian.AppendUint64(b, uint64(v(i))), true
	})
}

func (a *args) texts(n int, v func(i int) string) *args {
	return a.array(pgtype.TextOID, n, func(i int, b []byte) ([]byte, bool) { return append(b, v(i)...), true })
}

// optTexts binds NULL for each empty text.
func (a *args) optTexts(n int, v func(i int) string) *args {
	return a.array(pgtype.TextOID, n, func(i int, b []byte) ([]byte, bool) {
		s := v(i)
		return append(b, s...), s != ""
	})
}

func (a *args) ats(n int, v func(i int) time.Time) *args {
	return a.array(pgtype.TimestamptzOID, n, func(i int, b []byte) ([]byte, bool) {
		t := v(i)
		if t.IsZero() {
			return b, false
		}
		return binary.BigEndian.AppendUint64(b, uint64(instantOf(t))), true
	})
}

// manyBytes binds NULL for each empty value.
func (a *args) manyBytes(n int, v func(i int) []byte) *args {
	return a.array(pgtype.ByteaOID, n, func(i int, b []byte) ([]byte, bool) {
		s := v(i)
		return append(b, s...), len(s) > 0
	})
}

// manyDigests binds, for each i, digests one after the other, NULL for none.
func (a *args) manyDigests(n int, v func(i int) []id.Digest) *args {
	return a.array(pgtype.ByteaOID, n, func(i int, b []byte) ([]byte, bool) {
		all := v(i)
		for _, d := range all {
			b = a.appendDigest(b, d)
		}
		return b, len(all) > 0
	})
}

// list binds names as an array, NULL for none.
func (a *args) list(names []string) *args {
	if len(names) == 0 {
		return a.null()
	}
	return a.texts(len(names), func(i int) string { return names[i] })
}

// names binds a set of names; unset is NULL, which is not the empty set.
func (a *args) names(n wire.Names) *args {
	if !n.Set {
		return a.null()
	}
	return a.texts(len(n.Names), func(i int) string { return n.Names[i] })
}
