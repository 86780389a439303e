package sqlite

import (
	"context"
	"fmt"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"zombiezen.com/go/sqlite"
)

var _ store.MachineTx = (*tx)(nil)

// LoadMachine reads the machine rows of a board.
func (t *tx) LoadMachine(_ context.Context, ref id.Ref) (store.MachineFacts, error) {
	p, err := t.holds(ref)
	if err != nil || !p.found {
		return store.MachineFacts{}, err
	}
	f, err := t.c.machine(p)
	return f, t.failed("read a machine", err)
}

func (c conn) machine(p *place) (store.MachineFacts, error) {
	var f store.MachineFacts
	var err error
	f.Found, err = c.q(`SELECT digest, (SELECT content FROM blob_bodies WHERE id = (
			SELECT body FROM blobs b WHERE b.tenant = m.tenant AND b.digest = m.digest))
		FROM machines m WHERE tenant = ? AND board = ?`).int(p.tenant).int(p.board).
		one(func(stmt *sqlite.Stmt) { f.Digest, f.Source = readDigest(stmt, 0), content(stmt, 1) })
	if err != nil || !f.Found {
		return f, err
	}
	_, err = c.q(`SELECT seq, body FROM checkpoints WHERE tenant = ? AND board = ? ORDER BY seq DESC LIMIT 1`).
		int(p.tenant).int(p.board).
		one(func(stmt *sqlite.Stmt) {
			f.Checkpoint = &store.Checkpoint{Seq: id.Seq(stmt.ColumnInt64(0)), Body: content(stmt, 1)}
		})
	if err != nil {
		return f, err
	}
	return f, c.q(`SELECT agent, entry, attempt, generation, status, due, lease_until, sent_at, holder, failure
		FROM summons WHERE tenant = ? AND board = ? ORDER BY agent`).int(p.tenant).int(p.board).
		rows(func(stmt *sqlite.Stmt) error {
			f.Summons = append(f.Summons, machine.Summons{
				Agent: stmt.ColumnText(0), Entry: int(stmt.ColumnInt64(1)), Attempt: int(stmt.ColumnInt64(2)),
				Generation: stmt.ColumnInt64(3), Status: machine.Status(stmt.ColumnText(4)), Due: instant(stmt, 5),
				LeaseUntil: instant(stmt, 6), SentAt: instant(stmt, 7),
				Holder: stmt.ColumnText(8), Failure: stmt.ColumnText(9),
			})
			return nil
		})
}

// ApplyMachine writes machine rows. The board and the definition's blob must have
// been applied before.
func (t *tx) ApplyMachine(_ context.Context, changes []store.MachineChange) error {
	for i := range changes {
		ch := &changes[i]
		p, err := t.owns(ch.Ref)
		if err == nil && !p.found {
			err = fmt.Errorf("board %s does not exist", ch.Ref)
		}
		if err == nil {
			err = t.c.writeMachine(p, ch)
		}
		if err != nil {
			return t.failed("write a machine", err)
		}
	}
	return nil
}

func (c conn) writeMachine(p *place, ch *store.MachineChange) error {
	if ch.Digest != "" {
		err := c.q(`INSERT INTO machines (tenant, board, digest) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET digest = excluded.digest`).int(p.tenant).int(p.board).digest(ch.Digest).run()
		if err != nil {
			return err
		}
	}
	if cp := ch.Checkpoint; cp != nil {
		err := c.q(`INSERT INTO checkpoints (tenant, board, seq, body) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET body = excluded.body`).
			int(p.tenant).int(p.board).int(int64(cp.Seq)).blob(cp.Body).run()
		if err != nil {
			return err
		}
	}
	for _, agent := range ch.DropSummons {
		err := c.q(`DELETE FROM summons WHERE tenant = ? AND board = ? AND agent = ?`).
			int(p.tenant).int(p.board).text(agent).run()
		if err != nil {
			return err
		}
	}
	for i := range ch.Summons {
		m := &ch.Summons[i]
		err := c.q(`INSERT INTO summons (tenant, board, agent, entry, attempt, generation, status, due, lease_until,
				sent_at, holder, failure) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET entry = excluded.entry, attempt = excluded.attempt,
				generation = excluded.generation, status = excluded.status, due = excluded.due,
				lease_until = excluded.lease_until, sent_at = excluded.sent_at, holder = excluded.holder,
				failure = excluded.failure`).
			int(p.tenant).int(p.board).text(m.Agent).int(int64(m.Entry)).int(int64(m.Attempt)).int(m.Generation).
			text(string(m.Status)).at(m.Due).at(m.LeaseUntil).at(m.SentAt).optText(m.Holder).optText(m.Failure).run()
		if err != nil {
			return err
		}
	}
	return nil
}
