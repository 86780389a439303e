package sqlite

import (
	"fmt"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"zombiezen.com/go/sqlite"
)

// write applies one board's change and moves p to what it comes to.
func (c conn) write(p *place, ch *board.Change) error {
	if ch.Delete {
		if !p.found {
			return fmt.Errorf("board %s does not exist and cannot be deleted", ch.Row.Ref)
		}
		if err := c.delete(p); err != nil {
			return err
		}
		*p = place{}
		if !ch.Create {
			return nil
		}
	}
	if err := c.writeRow(p, ch); err != nil {
		return err
	}
	for i := range ch.Regions {
		if err := c.writeRegion(p, &ch.Regions[i]); err != nil {
			return err
		}
	}
	if err := c.writeRun(p, ch); err != nil {
		return err
	}
	for i := range ch.Entries {
		if err := c.writeEntry(p, &ch.Entries[i]); err != nil {
			return err
		}
	}
	for i := range ch.Erase {
		t := &ch.Erase[i]
		err := c.q(`INSERT INTO erasures (tenant, board, seq, at, by, reason) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET at = excluded.at, by = excluded.by, reason = excluded.reason`).
			int(p.tenant).int(p.board).int(int64(t.Seq)).int(t.At.UnixMicro()).text(t.By).optText(t.Reason).run()
		if err != nil {
			return err
		}
	}
	for i := range ch.Outcomes {
		o := &ch.Outcomes[i]
		err := c.q(`INSERT INTO outcomes (tenant, board, run, kind, reason, complete, unfinished, opened, closed, seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).
			int(p.tenant).int(p.board).int(o.Run).text(string(o.Kind)).optText(o.Reason).bool(o.Complete).
			list(o.Unfinished).at(o.OpenedAt).at(o.ClosedAt).int(int64(o.Seq)).run()
		if err != nil {
			return err
		}
	}
	return nil
}

// row binds what every statement that writes a board's row sets.
func (q *query) row(r *board.Row) *query {
	q.int(r.Rev).int(int64(r.Head)).at(r.Latest).int(r.Runs)
	if r.Run == nil {
		return q.null().null().null().null().null()
	}
	return q.int(r.Run.Number).at(r.Run.OpenedAt).int(int64(r.Run.Idle)).at(r.Run.Activity).at(r.Run.WallAt)
}

func (c conn) writeRow(p *place, ch *board.Change) error {
	r := &ch.Row
	var err error
	switch {
	case ch.Create:
		if p.found {
			return fmt.Errorf("board %s exists and cannot be created", r.Ref)
		}
		if p.tenant, err = c.tenant(r.Ref.Tenant); err != nil {
			return err
		}
		err = c.q(`INSERT INTO boards (rev, head, latest, runs, run_number, run_opened, run_idle, run_activity, run_wall,
			due, tenant, name, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).
			row(r).at(r.Due).int(p.tenant).text(string(r.Ref.Board)).int(r.Created.UnixMicro()).run()
		p.board = c.LastInsertRowID()
	case !p.found:
		return fmt.Errorf("board %s does not exist and cannot be changed", r.Ref)
	case due(p.row.Due) == due(r.Due):
		// Naming due in the statement would rewrite its index.
		err = c.q(`UPDATE boards SET rev = ?, head = ?, latest = ?, runs = ?, run_number = ?, run_opened = ?, run_idle = ?,
			run_activity = ?, run_wall = ? WHERE id = ?`).row(r).int(p.board).run()
	default:
		err = c.q(`UPDATE boards SET rev = ?, head = ?, latest = ?, runs = ?, run_number = ?, run_opened = ?, run_idle = ?,
			run_activity = ?, run_wall = ?, due = ? WHERE id = ?`).row(r).at(r.Due).int(p.board).run()
	}
	p.found = true
	p.row = *r
	return err
}

// due is an instant as it is compared: by the microsecond.
func due(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// tenant returns the tenant's number, drawing one for a new tenant.
func (c conn) tenant(name id.Tenant) (int64, error) {
	if err := c.q(`INSERT INTO tenants (name) VALUES (?) ON CONFLICT DO NOTHING`).text(string(name)).run(); err != nil {
		return 0, err
	}
	var number int64
	_, err := c.q(`SELECT id FROM tenants WHERE name = ?`).text(string(name)).
		one(func(stmt *sqlite.Stmt) { number = stmt.ColumnInt64(0) })
	return number, err
}

func (c conn) writeRegion(p *place, r *board.Region) error {
	return c.q(`INSERT INTO regions (tenant, board, name, kind, window, owner, last, version, count, last_writer, other)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET kind = excluded.kind, window = excluded.window, owner = excluded.owner,
			last = excluded.last, version = excluded.version, count = excluded.count,
			last_writer = excluded.last_writer, other = excluded.other`).
		int(p.tenant).int(p.board).text(r.Name).text(string(r.Kind)).int(int64(r.Window)).optText(r.Owner).
		int(int64(r.Last)).int(int64(r.Version)).int(r.Count).optText(r.LastWriter).int(int64(r.Other)).run()
}

// writeRun writes what goes when the run closes.
func (c conn) writeRun(p *place, ch *board.Change) error {
	if ch.DropRun {
		if err := c.q(`DELETE FROM outbox WHERE tenant = ? AND board = ?`).int(p.tenant).int(p.board).run(); err != nil {
			return err
		}
		if err := c.q(`DELETE FROM agents WHERE tenant = ? AND board = ?`).int(p.tenant).int(p.board).run(); err != nil {
			return err
		}
	}
	for _, agent := range ch.DropOutbox {
		err := c.q(`DELETE FROM outbox WHERE tenant = ? AND board = ? AND agent = ?`).
			int(p.tenant).int(p.board).text(agent).run()
		if err != nil {
			return err
		}
	}
	for i := range ch.Agents {
		a := &ch.Agents[i]
		err := c.q(`INSERT INTO agents (tenant, board, name, address, writes_to, subscribes_to, told, cursor, registered)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET address = excluded.address, writes_to = excluded.writes_to,
				subscribes_to = excluded.subscribes_to, told = excluded.told, cursor = excluded.cursor,
				registered = excluded.registered`).
			int(p.tenant).int(p.board).text(a.Name).optText(a.Address).names(a.WritesTo).names(a.SubscribesTo).
			int(int64(a.Told)).int(int64(a.Cursor)).at(a.Registered).run()
		if err != nil {
			return err
		}
	}
	for i := range ch.Outbox {
		o := &ch.Outbox[i]
		err := c.q(`INSERT INTO outbox (tenant, board, agent, due, claim, from_seq, to_seq, regions, lease, tries)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET due = excluded.due, claim = excluded.claim, from_seq = excluded.from_seq,
				to_seq = excluded.to_seq, regions = excluded.regions, lease = excluded.lease, tries = excluded.tries`).
			int(p.tenant).int(p.board).text(o.Agent).at(o.Due).optText(o.Claim).int(int64(o.From)).int(int64(o.To)).
			list(o.Regions).at(o.Lease).int(int64(o.Tries)).run()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c conn) writeEntry(p *place, e *board.Entry) error {
	err := c.q(`INSERT INTO entries (tenant, board, seq, region, kind, version, writer, at, key, digest, blobs, salt, content)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).
		int(p.tenant).int(p.board).int(int64(e.Seq)).text(e.Region).text(string(e.Kind)).int(int64(e.Version)).
		optText(e.Writer).at(e.At).optText(e.Key).digest(e.Digest).digests(e.Blobs).bytes(e.Salt).bytes(e.Content).run()
	if err != nil {
		return err
	}
	for _, d := range e.Blobs {
		err := c.q(`INSERT INTO blob_refs (tenant, board, seq, digest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`).
			int(p.tenant).int(p.board).int(int64(e.Seq)).digest(d).run()
		if err != nil {
			return err
		}
	}
	if e.Erased != nil {
		return c.q(`INSERT INTO erasures (tenant, board, seq, at, by, reason) VALUES (?, ?, ?, ?, ?, ?)`).
			int(p.tenant).int(p.board).int(int64(e.Seq)).int(e.Erased.At.UnixMicro()).text(e.Erased.By).
			optText(e.Erased.Reason).run()
	}
	return nil
}

// delete removes a board with everything it has. Content is overwritten first: a
// page that is put together anew while rows go may keep copies of what was in it.
func (c conn) delete(p *place) error {
	before, err := c.lastEntry()
	if err != nil {
		return err
	}
	for _, sql := range []string{
		`UPDATE entries SET salt = zeroblob(length(salt)), content = zeroblob(length(content))
			WHERE tenant = ? AND board = ? AND content IS NOT NULL`,
		`UPDATE checkpoints SET body = zeroblob(length(body)) WHERE tenant = ? AND board = ?`,
		`DELETE FROM summons WHERE tenant = ? AND board = ?`,
		`DELETE FROM checkpoints WHERE tenant = ? AND board = ?`,
		`DELETE FROM machines WHERE tenant = ? AND board = ?`,
		`DELETE FROM blob_refs WHERE tenant = ? AND board = ?`,
		`DELETE FROM erasures WHERE tenant = ? AND board = ?`,
		`DELETE FROM entries WHERE tenant = ? AND board = ?`,
		`DELETE FROM outcomes WHERE tenant = ? AND board = ?`,
		`DELETE FROM outbox WHERE tenant = ? AND board = ?`,
		`DELETE FROM agents WHERE tenant = ? AND board = ?`,
		`DELETE FROM regions WHERE tenant = ? AND board = ?`,
		`DELETE FROM boards WHERE tenant = ? AND id = ?`,
	} {
		q := c.q(sql)
		if q.err == nil && q.stmt.BindParamCount() > 0 {
			q.int(p.tenant).int(p.board)
		}
		if err := q.run(); err != nil {
			return err
		}
	}
	after, err := c.lastEntry()
	if err != nil {
		return err
	}
	return c.q(`UPDATE store SET moved = 1, gone = gone + ?`).int(before - after).run()
}

// lastEntry is the highest number that an entry of any board has, 0 without entries.
func (c conn) lastEntry() (int64, error) {
	var last int64
	_, err := c.q(`SELECT ifnull(max(id), 0) FROM entries`).one(func(stmt *sqlite.Stmt) { last = stmt.ColumnInt64(0) })
	return last, err
}

// putBlob stores a value under its digest; of one that is there it renews the
// instant.
func (c conn) putBlob(b *board.TenantBlob, now time.Time) error {
	tenant, err := c.tenant(b.Tenant)
	if err != nil {
		return err
	}
	err = c.q(`UPDATE blobs SET put = ? WHERE tenant = ? AND digest = ?`).
		int(now.UnixMicro()).int(tenant).digest(b.Digest).run()
	if err != nil || c.Changes() > 0 {
		return err
	}
	if err := c.q(`INSERT INTO blob_bodies (content) VALUES (?)`).blob(b.Content).run(); err != nil {
		return err
	}
	return c.q(`INSERT INTO blobs (tenant, digest, size, put, body) VALUES (?, ?, ?, ?, ?)`).
		int(tenant).digest(b.Digest).int(int64(len(b.Content))).int(now.UnixMicro()).int(c.LastInsertRowID()).run()
}

// collectBlobs removes the values that nothing refers to and that were put before
// an instant.
func (c conn) collectBlobs(before time.Time) error {
	for {
		var body int64
		err := c.q(`DELETE FROM blobs WHERE (tenant, digest) = (
				SELECT tenant, digest FROM blobs WHERE refs = 0 AND put < ? LIMIT 1) RETURNING body`).
			int(before.UnixMicro()).rows(func(stmt *sqlite.Stmt) error { body = stmt.ColumnInt64(0); return nil })
		if err != nil || body == 0 {
			return err
		}
		err = c.q(`UPDATE blob_bodies SET content = zeroblob(length(content)) WHERE id = ?`).int(body).run()
		if err != nil {
			return err
		}
		if err := c.q(`DELETE FROM blob_bodies WHERE id = ?`).int(body).run(); err != nil {
			return err
		}
	}
}
