package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/gate"
	"github.com/slate-agents/slate/refusal"
)

// Options configures a store. The zero value is right for most.
type Options struct {
	// Now substitutes a test's clock for the server's.
	Now func() time.Time
	// MaxConns is the most connections that are open at once; 0 means 40. A fifth of
	// them is left to reads.
	MaxConns int
	// Schema is the schema that holds the tables, made when there is none; empty means
	// the first of the search path that the URL or the server sets.
	Schema string
	// Patience is how long a call waits for a connection, or for a board that another
	// process holds, before it is refused or run again; 0 means ten seconds. The
	// server's answer may take six times as long.
	Patience time.Duration
}

// Store is an open database. It implements store.Store.
type Store struct {
	place    place
	now      func() time.Time
	patience time.Duration
	pool     *pgxpool.Pool
	writers  int
	gate     gate.Gate
	// identity is the store's own, and home the schema that it is in. Together they make
	// its locks its own in a database that holds several, or a copy.
	identity, home string
	// lifetime is the server's token, see resolve.go.
	lifetime atomic.Pointer[string]
	// settled is the mark that is known to be on the disk.
	settled atomic.Int64
	// wary counts the transactions for which no caller is trusted to hold a state.
	wary atomic.Int64
	// lastConnect is why a connection could not be made lately.
	lastConnect atomic.Pointer[error]
}

var _ store.Store = (*Store)(nil)

const (
	defaultConns    = 40
	defaultPatience = 10 * time.Second
)

// Open opens the database that a URL names (postgres://user:password@host:port/name,
// with the parameters that libpq knows), makes its tables when the schema is empty,
// and migrates them to what this program writes. Several processes may do so at
// once. A database that this program cannot read, or whose tables are somebody
// else's, is refused and left as it is. The password is never shown.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	config, where, err := parse(url, &opts)
	if err != nil {
		return nil, err
	}
	return openPool(ctx, config, where, opts)
}

// openPool opens the database once it is known where it is.
func openPool(ctx context.Context, config *pgxpool.Config, where place, opts Options) (*Store, error) {
	var err error
	s := &Store{place: where, now: opts.Now, patience: opts.Patience}
	conns := opts.MaxConns
	if conns <= 0 {
		conns = defaultConns
	}
	if conns < 2 {
		return nil, refusal.New(refusal.InvalidRequest, where.String(), "the store needs at least 2 connections").
			WithFix("raise the number of connections")
	}
	s.writers = conns - max(1, conns/5)
	if err := prepare(ctx, config.ConnConfig, where, &opts); err != nil {
		return nil, err
	}
	config.MaxConns = int32(conns)
	config.MinConns = 0
	config.MaxConnIdleTime = 5 * time.Minute
	// A connection that died is noticed by its next user, at no cost for the others.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, where.connectFailed(err)
	}
	if err := s.introduce(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// parse reads the URL and says how every connection is to be.
func parse(url string, opts *Options) (*pgxpool.Config, place, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, place{}, refusal.New(refusal.InvalidRequest, "", "the database's URL does not begin with postgres://").
			WithFix("write it like postgres://user:password@host:5432/database")
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's words may hold part of the password.
		return nil, place{}, refusal.New(refusal.InvalidRequest, "", "the database's URL cannot be understood").
			WithFix("write it like postgres://user:password@host:5432/database, with %%40 for an @ in the password and %%25 for a %%")
	}
	c := config.ConnConfig
	where := place{server: net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), database: c.Database, user: c.User}
	if strings.HasPrefix(c.Host, "/") {
		where.server = c.Host
	}
	if where.database == "" {
		where.database = c.User
	}
	if opts.Patience <= 0 {
		opts.Patience = defaultPatience
	}
	if opts.MaxConns == 0 && config.MaxConns != 0 && strings.Contains(url, "pool_max_conns=") {
		opts.MaxConns = int(config.MaxConns)
	}
	if c.ConnectTimeout <= 0 || c.ConnectTimeout > opts.Patience {
		c.ConnectTimeout = opts.Patience
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	set := c.RuntimeParams
	for name, value := range map[string]string{
		"client_encoding":    "UTF8",
		"synchronous_commit": synchronous(set["synchronous_commit"]),
		// Everything is read through an index, whatever the statistics say just now,
		// and planned once a connection.
		"plan_cache_mode": "force_generic_plan", "jit": "off", "enable_seqscan": "off", "enable_bitmapscan": "off",
		"enable_hashjoin": "off", "enable_mergejoin": "off", "max_parallel_workers_per_gather": "0",
		// A board held by a process that hangs is not waited for forever, and let go.
		"lock_timeout":                        milliseconds(opts.Patience),
		"idle_in_transaction_session_timeout": milliseconds(6 * opts.Patience),
	} {
		set[name] = value
	}
	if set["application_name"] == "" {
		set["application_name"] = "slate"
	}
	if opts.Schema != "" {
		set["search_path"] = pgx.Identifier{opts.Schema}.Sanitize()
	}
	return config, where, nil
}

// synchronous keeps a setting that is stronger than on, and no weaker one.
func synchronous(asked string) string {
	if asked == "remote_apply" {
		return asked
	}
	return "on"
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// prepare makes what is missing, on a connection of its own: nothing else is opened
// before it is known that the database can be used.
func prepare(ctx context.Context, config *pgx.ConnConfig, where place, opts *Options) error {
	c, err := connect(ctx, config, where, opts.Patience)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	have, newest, err := inspect(ctx, c, where, opts.Schema)
	if err != nil || have >= newest {
		return err
	}
	return migrate(ctx, c, config, where, opts.Schema)
}

// connect makes one connection. A server that is starting is waited for.
func connect(ctx context.Context, config *pgx.ConnConfig, where place, patience time.Duration) (*pgx.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := firstConnect; ; wait = min(2*wait, longConnect) {
		c, err := pgx.ConnectConfig(limited, config)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !passingState(stateOf(err)) {
			return nil, where.connectFailed(err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return nil, where.connectFailed(err)
		}
	}
}

// introduce reads who the store is, and learns the server's lifetime. A new store is
// given its identity; should another process be faster, that one stands.
func (s *Store) introduce(ctx context.Context) error {
	info, err := s.info(ctx)
	if err != nil {
		return err
	}
	if info.Identity == "" {
		err := s.read(ctx, "open", func(c *conn) error {
			c.bind().text(id.New())
			return c.add(nameStore, nil)
		})
		if err != nil {
			return err
		}
		if info, err = s.info(ctx); err != nil {
			return err
		}
	}
	s.identity = info.Identity
	err = s.read(ctx, "open", func(c *conn) error {
		c.plain(readHome, func(r row) error {
			s.home = r.text(0)
			return nil
		})
		return nil
	})
	if err != nil {
		return err
	}
	return s.learnLifetime(ctx)
}

// Close waits for the calls under way and closes every connection.
func (s *Store) Close() error {
	if s.gate.Close() {
		s.pool.Close()
	}
	return nil
}

// exec runs statements without parameters, on a connection that is not the pool's.
func exec(ctx context.Context, c *pgconn.PgConn, sql string) ([][]string, error) {
	results, err := c.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		for _, fields := range r.Rows {
			texts := make([]string, len(fields))
			for i, f := range fields {
				texts[i] = string(f)
			}
			out = append(out, texts)
		}
	}
	return out, nil
}

var errEnded = errors.New("postgres: the transaction has ended")

func checkLimit(limit int) error {
	if limit <= 0 {
		return fmt.Errorf("postgres: the limit is %d, it must be positive", limit)
	}
	return nil
}
