package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// What became of a COMMIT whose answer was lost.
//
// Another connection takes the lock of a board that the transaction wrote, which it
// gets when the transaction has ended, and asks the server for the status of the
// transaction's number. That settles it as long as the server has not crashed, been
// promoted or restored since: then a number that was given to a transaction that
// nothing was left of is given to another one. The table lifetime tells: it is not
// logged, and comes back empty from all of these. After that, what decides is the
// board's row, which holds a number drawn by the transaction that wrote it last, and
// the salt of an entry. Only when the row was written over, or the server cannot be
// reached, does the caller get COMMIT_UNKNOWN.

// written is what a transaction writes of one board, as far as it can be recognised.
type written struct {
	ref    id.Ref
	tenant int32
	number int64
	// from is the revision that was read, -1 for a board that is made, and to the one
	// that is written, -1 for a board that goes.
	from, to int64
	// seq and salt are those of an entry, if one with a salt is written.
	seq  id.Seq
	salt []byte
}

// remember keeps what is needed of a change to recognise it.
func (t *tx) remember(h *hold, ch *board.Change) {
	w := written{ref: ch.Row.Ref, tenant: h.tenant, number: h.number, from: -1, to: -1}
	if h.found {
		w.from = h.row.Rev
	}
	if !ch.Delete || !h.found {
		w.to = ch.Row.Rev
		for i := range ch.Entries {
			if e := &ch.Entries[i]; len(e.Salt) > 0 {
				w.seq, w.salt = e.Seq, append([]byte(nil), e.Salt...)
				break
			}
		}
	}
	for i := range t.wrote {
		if t.wrote[i].ref == w.ref {
			w.from = t.wrote[i].from
			t.wrote[i] = w
			return
		}
	}
	t.wrote = append(t.wrote, w)
}

// trace is what the server knows of a transaction.
type trace struct {
	lifetime, status string
	found            bool
	rev, batch       int64
	salt             []byte
}

var readTrace = newStatement(`SELECT (SELECT token FROM lifetime),
	CASE WHEN $3::xid8 < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status($3::xid8) END, b.rev, b.batch, e.salt
	FROM (VALUES (1)) AS one LEFT JOIN boards b ON b.tenant = $1::integer AND b.id = $2::bigint
	LEFT JOIN entries e ON e.tenant = b.tenant AND e.board = b.id AND e.seq = $4::bigint`)

// verdict is what a trace says.
type verdict int

const (
	unknown verdict = iota
	kept
	notKept
	running
)

// judge reads the trace of a transaction of that lifetime.
func (tr *trace) judge(lifetime string, batch int64, w *written) verdict {
	if tr.lifetime == lifetime {
		switch tr.status {
		case "committed":
			return kept
		case "aborted":
			return notKept
		case "in progress":
			return running
		}
	} else if tr.status != "committed" {
		// Had it been committed, its number would be nobody else's.
		return notKept
	}
	switch {
	case w == nil || w.to < 0:
		return unknown
	case !tr.found:
		return unknown
	case tr.rev == w.to && tr.batch == batch:
		return kept
	case tr.rev == w.to || tr.rev == w.from:
		return notKept
	case w.salt != nil && tr.salt != nil:
		if bytes.Equal(tr.salt, w.salt) {
			return kept
		}
		return notKept
	}
	return unknown
}

// resolve finds out what became of the transaction, whose connection is gone.
func (t *tx) resolve(gone *lost) error {
	var w *written
	if len(t.wrote) > 0 {
		w = &t.wrote[0]
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*t.s.patience)
	defer cancel()
	var why error = gone
	for wait := firstConnect; ; wait = min(2*wait, longConnect) {
		tr, err := t.trace(ctx, w)
		if err == nil {
			if tr.lifetime != t.lifetime {
				_ = t.s.learnLifetime(ctx)
			}
			switch tr.judge(t.lifetime, t.batch, w) {
			case kept:
				return nil
			case notKept:
				return fmt.Errorf("postgres: commit: %w: %w", board.ErrRetry, gone)
			case unknown:
				return t.unknown("it was written over since")
			}
			err = errors.New("the transaction is still running on the server")
		}
		why = err
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return t.unknown(reason(why))
		}
	}
}

func (t *tx) unknown(why string) error {
	return refusal.New(refusal.CommitUnknown, t.s.place.String(),
		"commit: the answer of the database %s was lost, and what became of it cannot be told: %s", t.s.place, why).
		WithFix("read the board again to see whether the write is there")
}

// trace asks for what the server knows, once the transaction has ended.
func (t *tx) trace(ctx context.Context, w *written) (trace, error) {
	var tr trace
	c, err := t.s.acquire(ctx)
	if err != nil {
		return tr, err
	}
	defer c.release()
	c.plain(begin, nil)
	none := written{}
	if w == nil {
		w = &none
	} else {
		c.bind().int(t.s.lockKey(w.ref))
		if err := c.add(lock, nil); err != nil {
			return tr, err
		}
	}
	c.bind().int4(w.tenant).int(w.number).int(t.number).int(int64(w.seq))
	err = c.add(readTrace, func(r row) error {
		tr = trace{lifetime: r.text(0), status: r.text(1), found: r.has(2), rev: r.int(2), batch: r.int(3), salt: r.bytes(4)}
		return nil
	})
	if err != nil {
		return tr, err
	}
	c.plain(rollback, nil)
	return tr, c.roundTrip(ctx)
}

var (
	drawLifetime = newStatement(`INSERT INTO lifetime (one, token) VALUES (1, $1::text) ON CONFLICT DO NOTHING`)
	readLifetime = newStatement(`SELECT token FROM lifetime`)
)

// learnLifetime reads the server's token, and draws one where it is missing.
func (s *Store) learnLifetime(ctx context.Context) error {
	var token string
	err := s.ask(ctx, "open", func(c *conn) error {
		c.bind().text(id.New())
		if err := c.add(drawLifetime, nil); err != nil {
			return err
		}
		c.plain(readLifetime, func(r row) error {
			token = r.text(0)
			return nil
		})
		return nil
	})
	if err == nil {
		s.lifetime.Store(&token)
	}
	return err
}
