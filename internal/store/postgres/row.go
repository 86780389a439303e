package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// row is one row of a result, or one record inside of one, in PostgreSQL's binary
// form; a nil value is NULL. It is valid until the next row is read.
type row [][]byte

var errMalformed = errors.New("a value from the server is not in the form that was asked for")

func (r row) has(i int) bool { return r[i] != nil }

// int is 0 for NULL.
func (r row) int(i int) int64 {
	if len(r[i]) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(r[i]))
}

func (r row) int4(i int) int32 {
	if len(r[i]) != 4 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(r[i]))
}

func (r row) bool(i int) bool { return len(r[i]) == 1 && r[i][0] != 0 }

func (r row) text(i int) string { return string(r[i]) }

// bytes is nil for NULL and for an empty value.
func (r row) bytes(i int) []byte { return append([]byte(nil), r[i]...) }

// at is the zero instant for NULL.
func (r row) at(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return time.UnixMicro(r.int(i) + epoch).UTC()
}

// kind spares a copy.
func (r row) kind(i int) wire.Kind {
	if len(r[i]) == len(wire.Level) {
		return wire.Level
	}
	return wire.Premise
}

func (r row) digest(i int) id.Digest { return id.Digest(hex.EncodeToString(r[i])) }

func (r row) digests(i int) []id.Digest {
	n := len(r[i]) / digestSize
	if n == 0 {
		return nil
	}
	out := make([]id.Digest, n)
	for k := range out {
		out[k] = id.Digest(hex.EncodeToString(r[i][k*digestSize : (k+1)*digestSize]))
	}
	return out
}

// list is nil for NULL and for no names.
func (r row) list(i int) ([]string, error) {
	var names []string
	err := elements(r[i], func(e []byte) error {
		names = append(names, string(e))
		return nil
	})
	return names, err
}

func (r row) names(i int) (wire.Names, error) {
	names, err := r.list(i)
	return wire.Names{Set: r.has(i), Names: names}, err
}

// record reads a composite value.
func (r row) record(i int) (row, error) { return record(nil, r[i]) }

// records calls f for each element of an array of composite values, in order.
func (r row) records(i int, f func(row) error) error {
	var fields row
	return elements(r[i], func(e []byte) error {
		var err error
		if fields, err = record(fields[:0], e); err != nil {
			return err
		}
		return f(fields)
	})
}

// elements calls f for each element of an array of one dimension.
func elements(b []byte, f func([]byte) error) error {
	const header, dimension = 12, 8
	if len(b) < header {
		if b == nil {
			return nil
		}
		return errMalformed
	}
	dimensions := binary.BigEndian.Uint32(b)
	if dimensions == 0 {
		return nil
	}
	if dimensions != 1 || len(b) < header+dimension {
		return errMalformed
	}
	n := binary.BigEndian.Uint32(b[header:])
	b = b[header+dimension:]
	for range n {
		var e []byte
		var err error
		if e, b, err = value(b); err != nil {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

// record appends the fields of a composite value.
func record(fields row, b []byte) (row, error) {
	if len(b) < 4 {
		return nil, errMalformed
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range n {
		if len(b) < 4 {
			return nil, errMalformed
		}
		var v []byte
		var err error
		if v, b, err = value(b[4:]); err != nil { // the type comes first
			return nil, err
		}
		fields = append(fields, v)
	}
	return fields, nil
}

// value takes a value with its length before it off b.
func value(b []byte) (v, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errMalformed
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	switch {
	case n < 0:
		return nil, b, nil
	case int(n) > len(b):
		return nil, nil, errMalformed
	}
	return b[:n:n], b[n:], nil
}
