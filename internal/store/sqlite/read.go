package sqlite

import (
	"fmt"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
	"zombiezen.com/go/sqlite"
)

// place is a board's numbers in the database and its row; found is false when
// there is no such board.
type place struct {
	tenant, board int64
	found         bool
	row           board.Row
}

const rowColumns = `b.tenant, b.id, b.rev, b.head, b.created, b.latest, b.runs,
	b.run_number, b.run_opened, b.run_idle, b.run_activity, b.run_wall, b.due`

// readRow reads rowColumns.
func readRow(stmt *sqlite.Stmt, ref id.Ref) place {
	p := place{tenant: stmt.ColumnInt64(0), board: stmt.ColumnInt64(1), found: true}
	p.row = board.Row{
		Ref: ref, Rev: stmt.ColumnInt64(2), Head: id.Seq(stmt.ColumnInt64(3)),
		Created: instant(stmt, 4), Latest: instant(stmt, 5), Runs: stmt.ColumnInt64(6), Due: instant(stmt, 12),
	}
	if !stmt.ColumnIsNull(7) {
		p.row.Run = &board.Run{
			Number: stmt.ColumnInt64(7), OpenedAt: instant(stmt, 8), Idle: time.Duration(stmt.ColumnInt64(9)),
			Activity: instant(stmt, 10), WallAt: instant(stmt, 11),
		}
	}
	return p
}

// Queries look names up in subqueries and not in joins: a join with a value bound
// on either side makes SQLite prepare the statement anew each time it runs, which
// was half of what a write cost.

// place finds a board.
func (c conn) place(ref id.Ref) (place, error) {
	var p place
	_, err := c.q(`SELECT ` + rowColumns + ` FROM boards b
		WHERE b.tenant = (SELECT id FROM tenants WHERE name = ?) AND b.name = ?`).text(string(ref.Tenant)).text(string(ref.Board)).
		one(func(stmt *sqlite.Stmt) { p = readRow(stmt, ref) })
	return p, err
}

// facts answers one want about a board at p.
func (c conn) facts(p *place, w *board.Want) (board.Facts, error) {
	var f board.Facts
	if err := c.blobFacts(w, &f); err != nil {
		return f, err
	}
	if !p.found {
		return f, nil
	}
	f.Found = true
	f.Row = p.row
	if p.row.Run != nil {
		run := *p.row.Run
		f.Row.Run = &run
	}
	for _, key := range w.Keys {
		e, ok, err := c.entry(p, c.q(entryByKey).int(p.tenant).int(p.board).text(key))
		if err != nil {
			return f, err
		}
		if ok {
			if f.Keys == nil {
				f.Keys = make(map[string]board.Entry, len(w.Keys))
			}
			f.Keys[key] = e
		}
	}
	for _, seq := range w.Entries {
		e, ok, err := c.entry(p, c.q(entryBySeq).int(p.tenant).int(p.board).int(int64(seq)))
		if err != nil {
			return f, err
		}
		if ok {
			if f.Entries == nil {
				f.Entries = make(map[id.Seq]board.Entry, len(w.Entries))
			}
			f.Entries[seq] = e
		}
	}
	if w.Have != 0 && w.Have == p.row.Rev {
		f.Same = true
		return f, nil
	}
	return f, c.state(p, &f)
}

func (c conn) blobFacts(w *board.Want, f *board.Facts) error {
	for _, d := range w.Blobs {
		_, err := c.q(`SELECT size FROM blobs WHERE tenant = (SELECT id FROM tenants WHERE name = ?) AND digest = ?`).
			text(string(w.Ref.Tenant)).digest(d).
			one(func(stmt *sqlite.Stmt) {
				if f.Blobs == nil {
					f.Blobs = make(map[id.Digest]int64, len(w.Blobs))
				}
				f.Blobs[d] = stmt.ColumnInt64(0)
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// state reads a board's regions, agents, outbox and latest outcome.
func (c conn) state(p *place, f *board.Facts) error {
	err := c.q(`SELECT name, kind, window, owner, last, version, count, last_writer, other
		FROM regions WHERE tenant = ? AND board = ? ORDER BY name`).int(p.tenant).int(p.board).
		rows(func(stmt *sqlite.Stmt) error {
			f.Regions = append(f.Regions, board.Region{
				Region: wire.Region{
					Name: stmt.ColumnText(0), Kind: kind(stmt, 1), Window: time.Duration(stmt.ColumnInt64(2)),
					Owner: stmt.ColumnText(3), Last: id.Seq(stmt.ColumnInt64(4)),
					Version: id.Version(stmt.ColumnInt64(5)), Count: stmt.ColumnInt64(6),
				},
				LastWriter: stmt.ColumnText(7), Other: id.Seq(stmt.ColumnInt64(8)),
			})
			return nil
		})
	if err != nil {
		return err
	}
	err = c.q(`SELECT name, address, writes_to, subscribes_to, told, cursor, registered
		FROM agents WHERE tenant = ? AND board = ? ORDER BY name`).int(p.tenant).int(p.board).
		rows(func(stmt *sqlite.Stmt) error {
			writes, err := readNames(stmt, 2)
			if err != nil {
				return err
			}
			subscribes, err := readNames(stmt, 3)
			if err != nil {
				return err
			}
			f.Agents = append(f.Agents, board.Agent{
				AgentDecl: wire.AgentDecl{Name: stmt.ColumnText(0), Address: stmt.ColumnText(1),
					WritesTo: writes, SubscribesTo: subscribes},
				Told: id.Seq(stmt.ColumnInt64(4)), Cursor: id.Seq(stmt.ColumnInt64(5)), Registered: instant(stmt, 6),
			})
			return nil
		})
	if err != nil {
		return err
	}
	err = c.q(`SELECT agent, due, claim, from_seq, to_seq, regions, lease, tries
		FROM outbox WHERE tenant = ? AND board = ? ORDER BY agent`).int(p.tenant).int(p.board).
		rows(func(stmt *sqlite.Stmt) error {
			regions, err := readList(stmt, 5)
			f.Outbox = append(f.Outbox, board.Outbox{
				Agent: stmt.ColumnText(0), Due: instant(stmt, 1), Claim: stmt.ColumnText(2),
				From: id.Seq(stmt.ColumnInt64(3)), To: id.Seq(stmt.ColumnInt64(4)),
				Regions: regions, Lease: instant(stmt, 6), Tries: int(stmt.ColumnInt64(7)),
			})
			return err
		})
	if err != nil {
		return err
	}
	return c.q(`SELECT run, kind, reason, complete, unfinished, opened, closed, seq
		FROM outcomes WHERE tenant = ? AND board = ? ORDER BY run DESC LIMIT 1`).int(p.tenant).int(p.board).
		rows(func(stmt *sqlite.Stmt) error {
			unfinished, err := readList(stmt, 4)
			f.Outcome = &wire.Outcome{
				Run: stmt.ColumnInt64(0), Kind: wire.OutcomeKind(stmt.ColumnText(1)), Reason: stmt.ColumnText(2),
				Complete: stmt.ColumnInt64(3) != 0, Unfinished: unfinished,
				OpenedAt: instant(stmt, 5), ClosedAt: instant(stmt, 6), Seq: id.Seq(stmt.ColumnInt64(7)),
			}
			return err
		})
}

// kind reads a region's kind.
func kind(stmt *sqlite.Stmt, col int) wire.Kind {
	if stmt.ColumnLen(col) == len(wire.Level) {
		return wire.Level
	}
	return wire.Premise
}

const entryColumns = `seq, region, kind, version, writer, at, key, digest, blobs, erased, salt, content`

const (
	entryByKey = `SELECT ` + entryColumns + ` FROM entries WHERE tenant = ? AND board = ? AND key = ?`
	entryBySeq = `SELECT ` + entryColumns + ` FROM entries WHERE tenant = ? AND board = ? AND seq = ?`
)

// entry reads the entry that one of the queries above selects.
func (c conn) entry(p *place, q *query) (board.Entry, bool, error) {
	var e board.Entry
	found, err := q.one(func(stmt *sqlite.Stmt) { e = readEntry(stmt) })
	if err == nil && e.Erased != nil {
		err = c.erasure(p, &e)
	}
	return e, found, err
}

// readEntry reads entryColumns. Of an erased entry it leaves an empty erasure.
func readEntry(stmt *sqlite.Stmt) board.Entry {
	e := board.Entry{Entry: wire.Entry{
		Seq: id.Seq(stmt.ColumnInt64(0)), Region: stmt.ColumnText(1), Kind: kind(stmt, 2),
		Version: id.Version(stmt.ColumnInt64(3)), Writer: stmt.ColumnText(4), At: instant(stmt, 5),
		Key: stmt.ColumnText(6), Digest: readDigest(stmt, 7),
	}}
	if stmt.ColumnInt64(9) != 0 {
		e.Erased = &wire.Erasure{}
	} else {
		e.Blobs, e.Salt, e.Content = readDigests(stmt, 8), content(stmt, 10), content(stmt, 11)
	}
	return e
}

// erasure fills in who erased an entry, when and why.
func (c conn) erasure(p *place, e *board.Entry) error {
	found, err := c.q(`SELECT at, by, reason FROM erasures WHERE tenant = ? AND board = ? AND seq = ?`).
		int(p.tenant).int(p.board).int(int64(e.Seq)).
		one(func(stmt *sqlite.Stmt) {
			*e.Erased = wire.Erasure{At: instant(stmt, 0), By: stmt.ColumnText(1), Reason: stmt.ColumnText(2)}
		})
	if err == nil && !found {
		err = fmt.Errorf("entry %d is erased but nothing says by whom", e.Seq)
	}
	return err
}

// page reads the entries that a query selects.
func (c conn) page(p *place, query board.EntryQuery) ([]board.Entry, error) {
	through := query.Through
	if through == 0 {
		through = p.row.Head
	}
	sql := pageSQL[pageKind{query.Region != "", query.Newest}]
	q := c.q(sql).int(p.tenant).int(p.board).int(int64(query.After)).int(int64(through)).int(int64(query.Limit))
	if query.Region != "" {
		q.text(query.Region)
	}
	out := make([]board.Entry, 0, max(0, min(query.Limit, int(through-query.After))))
	err := q.rows(func(stmt *sqlite.Stmt) error {
		out = append(out, readEntry(stmt))
		return nil
	})
	for i := range out {
		if err == nil && out[i].Erased != nil {
			err = c.erasure(p, &out[i])
		}
	}
	if len(out) == 0 {
		return nil, err
	}
	return out, err
}

type pageKind struct{ region, newest bool }

// SQLite looks at the value of a parameter that it plans a range, a limit or a
// condition outside an index by, and plans anew, at more than the price of the query,
// when another value is bound. It does not look behind a plus.
const pageAll = `SELECT ` + entryColumns + ` FROM entries
	WHERE tenant = +?1 AND board = +?2 AND seq > +?3 AND seq <= +?4`

var pageSQL = map[pageKind]string{
	{false, false}: pageAll + ` ORDER BY seq LIMIT +?5`,
	{false, true}:  pageAll + ` ORDER BY seq DESC LIMIT +?5`,
	{true, false}:  pageAll + ` AND region = +?6 ORDER BY seq LIMIT +?5`,
	{true, true}:   pageAll + ` AND region = +?6 ORDER BY seq DESC LIMIT +?5`,
}
