package sqlite

import (
	"context"
	"fmt"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"zombiezen.com/go/sqlite"
)

// read runs f on a reader's connection, in one snapshot.
func (s *Store) read(ctx context.Context, doing string, f func(conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.gate.Enter(); err != nil {
		return err
	}
	defer s.gate.Leave()
	c, err := s.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers <- c }()
	if err := c.exec(`BEGIN`); err != nil {
		return s.translate(doing, err)
	}
	err = f(c)
	if !c.AutocommitEnabled() {
		if end := c.exec(`ROLLBACK`); err == nil {
			err = end
		}
	}
	return s.translate(doing, err)
}

// reader takes a connection out of the pool, opening it when it is the first time.
func (s *Store) reader(ctx context.Context) (conn, error) {
	select {
	case c := <-s.readers:
		if c.Conn != nil {
			return c, nil
		}
		c, err := s.connect(sqlite.OpenReadOnly)
		if err != nil {
			s.readers <- conn{}
		}
		return c, err
	case <-ctx.Done():
		return conn{}, ctx.Err()
	}
}

// Batching puts any mix of calls into one transaction: SQLite writes one at a time.
func (s *Store) Batching() board.Batching { return board.Batching{Calls: board.MaxCalls} }

// Info tells which store this is, as the file says now.
func (s *Store) Info(ctx context.Context) (board.Info, error) {
	info := board.Info{Durable: "the end of the process and the loss of power: WAL, synchronous=FULL"}
	err := s.read(ctx, "read the store's identity", func(c conn) error {
		_, err := c.q(`SELECT identity, epoch, written_by, gone + ifnull((SELECT max(id) FROM entries), 0) FROM store`).one(func(stmt *sqlite.Stmt) {
			info.Identity, info.Epoch, info.Schema = stmt.ColumnText(0), id.Epoch(stmt.ColumnInt64(1)), stmt.ColumnInt64(2)
			info.Mark = stmt.ColumnInt64(3)
		})
		return err
	})
	return info, err
}

// SetEpoch begins a later epoch, durably.
func (s *Store) SetEpoch(ctx context.Context, epoch id.Epoch) error {
	begun, _, err := s.Begin(ctx, nil)
	if err != nil {
		return err
	}
	defer begun.Rollback()
	t := begun.(*tx)
	if err := t.failed("begin an epoch", t.c.q(`UPDATE store SET epoch = ?1 WHERE epoch < ?1`).int(int64(epoch)).run()); err != nil {
		return err
	}
	return t.Commit(ctx)
}

// Look reads one board's facts from one snapshot.
func (s *Store) Look(ctx context.Context, want board.Want) (board.Facts, error) {
	var f board.Facts
	err := s.read(ctx, "read a board", func(c conn) error {
		p, err := c.place(want.Ref)
		if err == nil {
			f, err = c.facts(&p, &want)
		}
		return err
	})
	return f, err
}

// Entries reads part of a board's record. A board that does not exist has none.
func (s *Store) Entries(ctx context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	if err := checkLimit(q.Limit); err != nil {
		return nil, 0, err
	}
	var entries []board.Entry
	var head id.Seq
	err := s.read(ctx, "read entries", func(c conn) error {
		p, err := c.place(ref)
		if err != nil || !p.found {
			return err
		}
		head = p.row.Head
		entries, err = c.page(&p, q)
		return err
	})
	return entries, head, err
}

func checkLimit(limit int) error {
	if limit <= 0 {
		return fmt.Errorf("sqlite: the limit is %d, it must be positive", limit)
	}
	return nil
}

// Boards lists boards of a tenant by name, or those of every tenant that are due.
func (s *Store) Boards(ctx context.Context, q board.BoardQuery) ([]board.Row, error) {
	if err := checkLimit(q.Limit); err != nil {
		return nil, err
	}
	var rows []board.Row
	err := s.read(ctx, "list boards", func(c conn) error {
		// Pluses as in pageAll.
		run := c.q(`SELECT ` + rowColumns + `, ?1, b.name FROM boards b
			WHERE b.tenant = (SELECT id FROM tenants WHERE name = ?1) AND b.name > +?2 ORDER BY b.name LIMIT +?3`)
		if q.DueBy.IsZero() {
			run.text(string(q.Tenant)).text(string(q.After)).int(int64(q.Limit))
		} else {
			run = c.q(`SELECT ` + rowColumns + `, (SELECT name FROM tenants WHERE id = b.tenant), b.name
				FROM boards b INDEXED BY boards_due
				WHERE b.due IS NOT NULL AND b.due <= +? ORDER BY b.due, b.id LIMIT +? OFFSET +?`).
				int(q.DueBy.UnixMicro()).int(int64(q.Limit)).int(int64(max(q.Offset, 0)))
		}
		return run.rows(func(stmt *sqlite.Stmt) error {
			ref := id.Ref{Tenant: id.Tenant(stmt.ColumnText(13)), Board: id.Board(stmt.ColumnText(14))}
			rows = append(rows, readRow(stmt, ref).row)
			return nil
		})
	})
	return rows, err
}

// Blob returns a content-addressed value, or nil.
func (s *Store) Blob(ctx context.Context, tenant id.Tenant, digest id.Digest) ([]byte, error) {
	var value []byte
	err := s.read(ctx, "read a blob", func(c conn) error {
		_, err := c.q(`SELECT content FROM blob_bodies WHERE id = (
				SELECT body FROM blobs WHERE tenant = (SELECT id FROM tenants WHERE name = ?) AND digest = ?)`).text(string(tenant)).digest(digest).
			one(func(stmt *sqlite.Stmt) {
				value = make([]byte, stmt.ColumnLen(0))
				stmt.ColumnBytes(0, value)
			})
		return err
	})
	return value, err
}
