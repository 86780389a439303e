package sqlite

import (
	"time"

	"zombiezen.com/go/sqlite"
)

// conn is one connection. It keeps the statements it prepared.
type conn struct {
	*sqlite.Conn
}

// query is one run of a statement. Parameters are bound in order; the first error
// is kept and returned at the end.
type query struct {
	stmt *sqlite.Stmt
	n    int
	err  error
}

// q prepares a run of the statement.
func (c conn) q(sql string) *query {
	stmt, err := c.Prepare(sql)
	return &query{stmt: stmt, err: err}
}

// exec runs a statement without parameters.
func (c conn) exec(sql string) error { return c.q(sql).run() }

func (q *query) next() bool {
	q.n++
	return q.err == nil
}

func (q *query) int(v int64) *query {
	if q.next() {
		q.stmt.BindInt64(q.n, v)
	}
	return q
}

func (q *query) bool(v bool) *query {
	if v {
		return q.int(1)
	}
	return q.int(0)
}

func (q *query) text(v string) *query {
	if q.next() {
		q.stmt.BindText(q.n, v)
	}
	return q
}

// optText binds NULL for an empty text.
func (q *query) optText(v string) *query {
	if v == "" {
		return q.null()
	}
	return q.text(v)
}

// bytes binds NULL for an empty value.
func (q *query) bytes(v []byte) *query {
	if len(v) == 0 {
		return q.null()
	}
	return q.blob(v)
}

func (q *query) blob(v []byte) *query {
	if q.next() {
		q.stmt.BindBytes(q.n, v)
	}
	return q
}

// at binds an instant, NULL for the zero instant.
func (q *query) at(t time.Time) *query {
	if t.IsZero() {
		return q.null()
	}
	return q.int(t.UnixMicro())
}

func (q *query) null() *query {
	if q.next() {
		q.stmt.BindNull(q.n)
	}
	return q
}

// run executes a statement that returns no rows.
func (q *query) run() error {
	if q.err != nil {
		return q.err
	}
	_, err := q.stmt.Step()
	if err != nil {
		return err
	}
	return q.stmt.Reset()
}

// rows calls f for each row.
func (q *query) rows(f func(*sqlite.Stmt) error) error {
	if q.err != nil {
		return q.err
	}
	for {
		more, err := q.stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return q.stmt.Reset()
		}
		if err := f(q.stmt); err != nil {
			q.stmt.Reset()
			return err
		}
	}
}

// one calls f for the row of a statement that returns at most one, and reports
// whether there was one.
func (q *query) one(f func(*sqlite.Stmt)) (bool, error) {
	if q.err != nil {
		return false, q.err
	}
	found, err := q.stmt.Step()
	if err != nil {
		return false, err
	}
	if found {
		f(q.stmt)
	}
	return found, q.stmt.Reset()
}

// instant reads a column, the zero instant for NULL.
func instant(stmt *sqlite.Stmt, col int) time.Time {
	if stmt.ColumnIsNull(col) {
		return time.Time{}
	}
	return time.UnixMicro(stmt.ColumnInt64(col)).UTC()
}

// content reads a column, nil for NULL and for an empty value.
func content(stmt *sqlite.Stmt, col int) []byte {
	n := stmt.ColumnLen(col)
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	stmt.ColumnBytes(col, b)
	return b
}

// micro is an instant as it is kept: UTC, whole microseconds.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }
