package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/postgres"
)

// host runs what needs a test without being one: it keeps what the end has to undo,
// and panics with a failure where a test would end.
type host struct {
	testing.TB
	b *bench
}

// failure is what a host was told.
type failure struct{ error }

func (h host) Helper()          {}
func (h host) Cleanup(f func()) { h.b.cleanup(f) }
func (h host) Fatal(args ...any) {
	panic(failure{errors.New(strings.TrimSpace(fmt.Sprintln(args...)))})
}
func (h host) Fatalf(format string, a ...any) { panic(failure{fmt.Errorf(format, a...)}) }

// pgServer starts a PostgreSQL of the program's own.
func (b *bench) pgServer() (server *pgtest.Server, err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f
		}
	}()
	server = pgtest.New(host{b: b})
	return server, b.pgSettings(server)
}

// pgSettings reads back what decides how durable a commit is.
func (b *bench) pgSettings(server *pgtest.Server) error {
	c, err := pgx.Connect(b.ctx, server.URL(""))
	if err != nil {
		return err
	}
	defer c.Close(b.ctx)
	var out []string
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "wal_sync_method", "full_page_writes", "commit_delay", "shared_buffers", "max_connections"} {
		var value string
		if err := c.QueryRow(b.ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return err
		}
		out = append(out, name+"="+value)
	}
	b.setting("PostgreSQL", strings.Join(out, " "))
	return nil
}

// openPostgres opens a system on a schema of its own.
func (b *bench) openPostgres(server *pgtest.Server) (*slate.System, error) {
	st, closeStore, err := b.bareStore(server)
	if err != nil {
		return nil, err
	}
	b.cleanup(closeStore)
	sys, err := slate.New(b.ctx, st, slate.Options{})
	if err == nil {
		b.cleanup(func() { sys.Close() })
	}
	return sys, err
}

// bareStore opens a store on a schema of its own.
func (b *bench) bareStore(server *pgtest.Server) (st board.Store, closeStore func(), err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f
		}
	}()
	pg, err := postgres.Open(b.ctx, server.URL(server.Schema(host{b: b})), postgres.Options{})
	return pg, func() { pg.Close() }, err
}

// pgWriters is how many callers write at once.
const pgWriters = 32

// postgresRows measure durable writes to PostgreSQL, on one board and on many.
func postgresRows(b *bench) error {
	server, err := b.pgServer()
	if err != nil {
		return err
	}
	sys, err := b.openPostgres(server)
	if err != nil {
		return err
	}
	many, err := quietCrowd(b.ctx, sys, "many", pgWriters, pgWriters)
	if err != nil {
		return err
	}
	one, err := quietCrowd(b.ctx, sys, "one", 1, pgWriters)
	if err != nil {
		return err
	}
	floor, err := b.rawPostgres(server)
	if err != nil {
		return err
	}
	const writes = 4000
	ns, err := b.turns(25, writes, many.side(), floor.side(), one.side())
	if err != nil {
		return err
	}
	ratio := ns[1].over(ns[0])
	b.add(row{what: "level writes, PostgreSQL, 32 writers on 32 boards, with keys", target: "≥ 0.4 × raw single-row inserts, 32 connections",
		result: rate(perSecond(ns[0])), floor: rate(perSecond(ns[1])), ratio: times(ratio), met: ratio.median() >= 0.4})
	persec := perSecond(ns[2])
	b.add(row{what: "level writes, PostgreSQL, 32 writers on one board, with keys", target: "≥ 15,000/s",
		result: rate(persec), floor: rate(perSecond(ns[1])), ratio: times(ns[1].over(ns[2])), met: persec.median() >= 15_000})
	return nil
}

// quietCrowd is a crowd on boards without agents.
func quietCrowd(ctx context.Context, sys *slate.System, prefix string, boards, writers int) (*crowd, error) {
	c := &crowd{}
	return c, c.join(ctx, sys, prefix, boards, writers, boardSpec{})
}

// rawPostgres inserts entries one a transaction, each on a connection of its own.
type rawPostgres struct {
	ctx   context.Context
	conns []*pgx.Conn
	heads []int64
}

// rawPostgres makes a table like the one that entries are kept in, with its indexes.
func (b *bench) rawPostgres(server *pgtest.Server) (r *rawPostgres, err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f
		}
	}()
	schema := server.Schema(host{b: b})
	st, err := postgres.Open(b.ctx, server.URL(schema), postgres.Options{})
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	r = &rawPostgres{ctx: b.ctx, heads: make([]int64, pgWriters)}
	b.cleanup(func() {
		for _, c := range r.conns {
			c.Close(context.WithoutCancel(b.ctx))
		}
	})
	for range pgWriters {
		c, err := pgx.Connect(b.ctx, server.URL(schema))
		if err != nil {
			return nil, err
		}
		r.conns = append(r.conns, c)
	}
	_, err = r.conns[0].Exec(b.ctx, `CREATE TABLE raw (LIKE entries INCLUDING ALL)`)
	return r, err
}

func (r *rawPostgres) side() side {
	return func(n int) (time.Duration, error) {
		var left atomic.Int64
		left.Store(int64(n))
		return together(len(r.conns), func(i int) error {
			for left.Add(-1) >= 0 {
				if err := r.insert(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func (r *rawPostgres) insert(i int) error {
	r.heads[i]++
	key := keyOf(int64(i), r.heads[i])
	sum := sha256.Sum256([]byte(key))
	_, err := r.conns[i].Exec(r.ctx, `INSERT INTO raw (tenant, board, seq, version, at, region, kind, writer, key, digest, salt, content)
		VALUES (1, $1, $2, 0, $3, $4, 'level', $5, $6, $7, $8, $9)`,
		int64(i+1), r.heads[i], time.Now(), level, writer, key, sum[:], sum[:16], []byte(payload))
	return err
}
