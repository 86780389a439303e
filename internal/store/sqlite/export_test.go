package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// SetMaxPages bounds the size of the file, as a full disk would, and returns what
// it holds now; 0 only asks.
func (s *Store) SetMaxPages(pages int64) (now int64, err error) {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	if pages > 0 {
		err = s.writer.q(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)).rows(func(*sqlite.Stmt) error { return nil })
		if err != nil {
			return 0, err
		}
	}
	_, err = s.writer.q(`PRAGMA page_count`).one(func(stmt *sqlite.Stmt) { now = stmt.ColumnInt64(0) })
	return now, err
}

// Explain returns the plan of a query.
func (s *Store) Explain(sql string) (plan string, err error) {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	err = s.writer.q(`EXPLAIN QUERY PLAN ` + sql).rows(func(stmt *sqlite.Stmt) error {
		plan += stmt.ColumnText(3) + "\n"
		return nil
	})
	return plan, err
}

// HoldSnapshot keeps a reader on what is committed now until the function it
// returns is called.
func (s *Store) HoldSnapshot() (release func() error, err error) {
	c := <-s.readers
	if c.Conn == nil {
		if c, err = s.connect(sqlite.OpenReadOnly); err != nil {
			return nil, err
		}
	}
	if err := c.exec(`BEGIN`); err != nil {
		return nil, err
	}
	if err := c.q(`SELECT one FROM store`).run(); err != nil {
		return nil, err
	}
	return func() error {
		err := c.exec(`ROLLBACK`)
		s.readers <- c
		return err
	}, nil
}
