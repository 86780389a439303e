package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// read makes one round trip of one statement that changes nothing, which is one
// snapshot. A connection that turns out to be dead is replaced and the statement
// sent again, until the store's patience ends.
func (s *Store) read(ctx context.Context, doing string, add func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.gate.Enter(); err != nil {
		return err
	}
	defer s.gate.Leave()
	return s.ask(ctx, doing, add)
}

// ask is read for a caller inside the gate.
func (s *Store) ask(ctx context.Context, doing string, add func(*conn) error) error {
	for begun := time.Now(); ; {
		c, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		if err = add(c); err == nil {
			err = c.roundTrip(ctx)
		}
		if err == nil {
			c.release()
			return nil
		}
		c.abandon()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !retryable(err) {
			return s.place.translate(doing, err)
		}
		if time.Since(begun) > s.patience {
			return s.place.busy(doing, err)
		}
	}
}

// Batching gives each board a batch of its own: their transactions run side by side,
// as many as leave some connections for reading.
func (s *Store) Batching() board.Batching {
	return board.Batching{PerBoard: true, Calls: board.MaxCalls, Parallel: s.writers}
}

// Info tells which store this is, as the database says now. The mark counts writes
// outside of transactions, so a crash could take back what is not on the disk yet:
// what Info tells is.
func (s *Store) Info(ctx context.Context) (board.Info, error) {
	info, err := s.info(ctx)
	if err != nil || info.Mark == s.settled.Load() {
		return info, err
	}
	err = s.read(ctx, "settle the mark", func(c *conn) error {
		c.plain(settleMark, nil)
		return nil
	})
	if err == nil {
		s.settled.Store(info.Mark)
	}
	return info, err
}

func (s *Store) info(ctx context.Context) (board.Info, error) {
	info := board.Info{Durable: "the end of the process, of the server and the loss of power: PostgreSQL, synchronous_commit=on"}
	err := s.read(ctx, "read the store's identity", func(c *conn) error {
		c.plain(readInfo, func(r row) error {
			info.Identity, info.Epoch, info.Schema = r.text(0), id.Epoch(r.int(1)), r.int(2)
			info.Mark, info.Lineage = r.int(3), r.text(4)
			return nil
		})
		return nil
	})
	return info, err
}

// SetEpoch begins a later epoch, durably. Doing it twice is doing it once, so it may
// be asked again when its answer is lost.
func (s *Store) SetEpoch(ctx context.Context, epoch id.Epoch) error {
	return s.read(ctx, "begin an epoch", func(c *conn) error {
		c.bind().int(int64(epoch))
		return c.add(setEpoch, nil)
	})
}

// Look reads one board's facts from one snapshot.
func (s *Store) Look(ctx context.Context, want board.Want) (board.Facts, error) {
	var f board.Facts
	err := s.read(ctx, "read a board", func(c *conn) error {
		f = board.Facts{}
		a := c.bind().text(string(want.Ref.Tenant)).text(string(want.Ref.Board)).int(have(&want))
		a.lookups(&want).blobs(&want)
		return c.add(look, func(r row) error {
			if err := readFacts(r, &want, &f); err != nil {
				return err
			}
			rest := r[rowWidth+stateWidth:]
			if f.Found {
				if err := readLookups(rest, &want, &f); err != nil {
					return err
				}
			}
			return rest.records(2, func(r row) error {
				readBlobSize(r, &want, &f)
				return nil
			})
		})
	})
	return f, err
}

// lookups binds what a want looks up.
func (a *args) lookups(w *board.Want) *args {
	a.texts(len(w.Keys), func(i int) string { return w.Keys[i] })
	return a.ints(len(w.Entries), func(i int) int64 { return int64(w.Entries[i]) })
}

func (a *args) blobs(w *board.Want) *args {
	return a.manyDigests(len(w.Blobs), func(i int) []id.Digest { return w.Blobs[i : i+1] })
}

// Entries reads part of a board's record. A board that does not exist has none.
func (s *Store) Entries(ctx context.Context, ref id.Ref, q board.EntryQuery) ([]board.Entry, id.Seq, error) {
	if err := checkLimit(q.Limit); err != nil {
		return nil, 0, err
	}
	var p pageReader
	err := s.read(ctx, "read entries", func(c *conn) error { return p.add(c, ref, q) })
	return p.entries, p.head, err
}

// pageReader reads a page of a record.
type pageReader struct {
	entries []board.Entry
	head    id.Seq
}

func (p *pageReader) add(c *conn, ref id.Ref, q board.EntryQuery) error {
	*p = pageReader{}
	a := c.bind().text(string(ref.Tenant)).text(string(ref.Board)).
		int(int64(q.After)).int(int64(q.Through)).int(int64(q.Limit))
	if q.Region != "" {
		a.text(q.Region)
	}
	return c.add(pages[pageKind{q.Region != "", q.Newest}], func(r row) error {
		p.head = id.Seq(r.int(0))
		if r.has(1) {
			p.entries = append(p.entries, readEntry(r[1:]))
		}
		return nil
	})
}

// Boards lists boards of a tenant by name, or those of every tenant that are due.
func (s *Store) Boards(ctx context.Context, q board.BoardQuery) ([]board.Row, error) {
	if err := checkLimit(q.Limit); err != nil {
		return nil, err
	}
	var rows []board.Row
	err := s.read(ctx, "list boards", func(c *conn) error {
		rows = nil
		statement, a := listByName, c.bind()
		if q.DueBy.IsZero() {
			a.text(string(q.Tenant)).text(string(q.After)).int(int64(q.Limit))
		} else {
			statement = listByDue
			a.at(q.DueBy).int(int64(q.Limit)).int(int64(max(q.Offset, 0)))
		}
		return c.add(statement, func(r row) error {
			ref := id.Ref{Tenant: id.Tenant(r.text(rowWidth)), Board: id.Board(r.text(rowWidth + 1))}
			rows = append(rows, readRow(r, ref))
			return nil
		})
	})
	return rows, err
}

// Blob returns a content-addressed value, or nil.
func (s *Store) Blob(ctx context.Context, tenant id.Tenant, digest id.Digest) ([]byte, error) {
	if digest == "" {
		return nil, errors.New("postgres: a blob without a digest")
	}
	var value []byte
	err := s.read(ctx, "read a blob", func(c *conn) error {
		value = nil
		c.bind().text(string(tenant)).digest(digest)
		return c.add(readBlob, func(r row) error {
			value = append([]byte{}, r[0]...)
			return nil
		})
	})
	return value, err
}
