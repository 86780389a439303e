package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/slate-agents/slate"
)

// rawSQLite writes by hand what Slate's SQLite store writes: the same rows into the
// same tables, without reading anything and without deciding anything.
type rawSQLite struct {
	c     *sqlite.Conn
	path  string
	heads []int64 // by board
	// writers is how many callers' keys there are on each board.
	writers int64
	rev     int64
	next    int // the board whose turn it is
}

// rawSQLite makes a file with the boards that the subject has, and opens it bare.
func (b *bench) rawSQLite(name string, boards, writers int, spec boardSpec) (*rawSQLite, error) {
	dir := filepath.Join(b.dir, name)
	sys, err := slate.Open(b.ctx, slate.Options{Data: dir})
	if err != nil {
		return nil, err
	}
	for i := range boards {
		if _, err := makeBoard(b.ctx, sys, boardName("b", i), spec); err != nil {
			return nil, err
		}
	}
	if err := sys.Close(); err != nil {
		return nil, err
	}
	r := &rawSQLite{path: filepath.Join(dir, slate.DatabaseFile), heads: make([]int64, boards), rev: 1, writers: int64(writers)}
	if r.c, err = sqlite.OpenConn(r.path, sqlite.OpenReadWrite); err != nil {
		return nil, err
	}
	b.cleanup(func() { r.c.Close() })
	for _, pragma := range []string{`journal_mode = WAL`, `synchronous = FULL`, `foreign_keys = ON`, `secure_delete = ON`, `cache_size = -8192`} {
		if err := r.exec(`PRAGMA ` + pragma); err != nil {
			return nil, err
		}
	}
	values, err := pragmas(r.c)
	b.setting("SQLite, the floor's connection "+sqliteVersion(r.c), values)
	return r, err
}

// durability are the pragmas that decide how durable a commit is, and what it costs.
var durability = []string{"journal_mode", "synchronous", "wal_autocheckpoint", "fullfsync", "foreign_keys", "secure_delete", "cache_size"}

// pragmas reads them back from a connection.
func pragmas(c *sqlite.Conn) (string, error) {
	var out []string
	for _, name := range durability {
		stmt, _, err := c.PrepareTransient(`PRAGMA ` + name)
		if err != nil {
			return "", err
		}
		if _, err = stmt.Step(); err == nil {
			out = append(out, name+"="+stmt.ColumnText(0))
		}
		if end := stmt.Finalize(); err == nil {
			err = end
		}
		if err != nil {
			return "", err
		}
	}
	return strings.Join(out, " "), nil
}

func sqliteVersion(c *sqlite.Conn) string {
	stmt, _, err := c.PrepareTransient(`SELECT sqlite_version()`)
	if err != nil {
		return ""
	}
	defer stmt.Finalize()
	if _, err := stmt.Step(); err != nil {
		return ""
	}
	return "(" + stmt.ColumnText(0) + ")"
}

// exec runs a statement; texts, numbers and bytes are bound in order.
func (r *rawSQLite) exec(sql string, args ...any) error {
	stmt, err := r.c.Prepare(sql)
	if err != nil {
		return err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			stmt.BindInt64(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			stmt.BindBytes(i+1, v)
		}
	}
	if _, err = stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}

// transaction writes a number of contributions, board after board, and the rows of
// that many notifications in one durable transaction.
func (r *rawSQLite) transaction(writes, notifications int) error {
	if err := r.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	now := time.Now().UnixMicro()
	touched := map[int]bool{}
	for range writes {
		i := r.turn()
		touched[i] = true
		r.heads[i]++
		if err := r.entry(int64(i+1), r.heads[i], now); err != nil {
			return err
		}
	}
	for range notifications {
		i := r.turn()
		touched[i] = true
		if err := r.notification(int64(i+1), r.heads[i], now); err != nil {
			return err
		}
	}
	r.rev++
	for i := range touched {
		n := int64(i + 1)
		if err := r.exec(`UPDATE regions SET last = ?1, count = ?1, last_writer = ?2 WHERE tenant = 1 AND board = ?3 AND name = ?4`,
			r.heads[i], writer, n, level); err != nil {
			return err
		}
		if err := r.exec(`UPDATE boards SET rev = ?1, head = ?2, latest = ?3, run_activity = ?3 WHERE id = ?4`,
			r.rev, r.heads[i], now, n); err != nil {
			return err
		}
	}
	return r.exec(`COMMIT`)
}

func (r *rawSQLite) turn() int {
	r.next = (r.next + 1) % len(r.heads)
	return r.next
}

func (r *rawSQLite) entry(board, seq, now int64) error {
	var name [16]byte
	binary.BigEndian.PutUint64(name[:], uint64(board))
	binary.BigEndian.PutUint64(name[8:], uint64(seq))
	sum := sha256.Sum256(name[:])
	return r.exec(`INSERT INTO entries (tenant, board, seq, region, kind, version, writer, at, key, digest, salt, content)
		VALUES (1, ?, ?, ?, 'level', 0, ?, ?, ?, ?, ?, ?)`,
		board, seq, level, writer, now, keyOf(board+int64(len(r.heads))*(seq%r.writers), seq/r.writers), sum[:], sum[:16], []byte(payload))
}

// keyOf is the idempotency key of a caller's nth write.
func keyOf(caller, n int64) string { return fmt.Sprintf("key-%02d-%09d", caller, n) }

// notification is what telling one agent writes: the intent, the claim, how far the
// agent was told, and the end of it.
func (r *rawSQLite) notification(board, seq, now int64) error {
	const agent = "agent-00"
	if err := r.exec(`INSERT INTO outbox (tenant, board, agent, due, from_seq, to_seq, tries) VALUES (1, ?, ?, ?, 0, 0, 0)`,
		board, agent, now); err != nil {
		return err
	}
	if err := r.exec(`UPDATE outbox SET due = NULL, claim = ?, from_seq = ?, to_seq = ?, regions = ?, lease = ?, tries = 1
		WHERE tenant = 1 AND board = ? AND agent = ?`,
		"01900000-0000-7000-8000-000000000000", seq, seq, `["`+level+`"]`, now, board, agent); err != nil {
		return err
	}
	if err := r.exec(`UPDATE agents SET told = ? WHERE tenant = 1 AND board = ? AND name = ?`, seq, board, agent); err != nil {
		return err
	}
	return r.exec(`DELETE FROM outbox WHERE tenant = 1 AND board = ? AND agent = ?`, board, agent)
}

// crowd writes what a crowd of callers wrote, 100 calls a transaction. A
// notification is two calls: its claim and its settlement.
func (r *rawSQLite) crowd(writes, notifications int) (time.Duration, error) {
	const calls = 100
	transactions := (writes + 2*notifications + calls - 1) / calls
	begun := time.Now()
	for i := range transactions {
		part := func(n int) int { return n*(i+1)/transactions - n*i/transactions }
		if err := r.transaction(part(writes), part(notifications)); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}
