package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/gate"
	"github.com/slate-agents/slate/internal/store/migrations"
	"github.com/slate-agents/slate/refusal"
	"zombiezen.com/go/sqlite"
)

// Options configures a store. The zero value is right for most.
type Options struct {
	// Now substitutes a test's clock for the system's.
	Now func() time.Time
	// Readers is how many calls read at the same time; 0 means 4.
	Readers int
	// Patience is how long a write waits for another process that writes before it
	// is refused with STORE_BUSY; 0 means ten seconds.
	Patience time.Duration
}

// Store is an open database. It implements store.Store.
type Store struct {
	path     string
	now      func() time.Time
	patience time.Duration
	gate     gate.Gate

	// writing is held by whoever uses writer and scrubbing.
	writing chan struct{}
	writer  conn
	// scrubbing says that the log still has content that was erased.
	scrubbing bool
	// readers holds the idle readers; a zero conn is one that was not opened yet.
	readers chan conn
}

var _ store.Store = (*Store)(nil)

// Open opens the database file at path, creating it when it does not exist, and
// migrates its schema to what this program writes. A file that this program cannot
// read, or that is no Slate database, is refused and left as it is.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, exists, err := locate(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, now: opts.Now, patience: opts.Patience, writing: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.patience <= 0 {
		s.patience = 10 * time.Second
	}
	newest := migrations.Newest(migrations.SQLite())
	have := int64(0)
	if exists {
		err = insist(ctx, s.patience, func() error {
			have, err = inspect(path, newest)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if have < newest {
		if err := migrate(ctx, path, s.patience, newest); err != nil {
			return nil, err
		}
	}
	if s.writer, err = s.connect(sqlite.OpenReadWrite); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		s.writer.Close()
		return nil, err
	}
	readers := opts.Readers
	if readers <= 0 {
		readers = 4
	}
	s.readers = make(chan conn, readers)
	for range readers {
		s.readers <- conn{}
	}
	return s, nil
}

// smallest is the size of the smallest file that can be a database.
const smallest = 512

// locate makes the path absolute, so that no name means anything special to
// SQLite, and says whether there is a file. Everything it refuses is a mistake in
// the path.
func locate(path string) (string, bool, error) {
	if path == "" {
		return "", false, refusal.New(refusal.InvalidRequest, "", "the path of the database is empty").
			WithFix("name a file")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", false, fmt.Errorf("sqlite: %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case err == nil && info.IsDir():
		return "", false, refusal.New(refusal.InvalidRequest, abs, "%s is a folder, not a database file", abs).
			WithFix("name a file, for example %s", filepath.Join(abs, "slate.db"))
	case err == nil && !info.Mode().IsRegular():
		return "", false, refusal.New(refusal.InvalidRequest, abs, "%s is not a regular file", abs).
			WithFix("name a file")
	case err == nil && info.Size() > 0 && info.Size() < smallest:
		return "", false, notOurs(abs) // which SQLite would take for an empty one
	case err == nil:
		return abs, info.Size() > 0, nil
	case errors.Is(err, fs.ErrPermission):
		return "", false, refusal.New(refusal.StoreReadOnly, abs, "%s cannot be reached", abs).
			WithFix("give this user access to the folders above it")
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, refusal.New(refusal.InvalidRequest, abs, "%s cannot be a database file: %v", abs, err).
			WithFix("name another file")
	}
	dir := filepath.Dir(abs)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", false, refusal.New(refusal.InvalidRequest, abs, "the folder of the database %s does not exist", abs).
			WithFix("create it: mkdir -p %s", dir)
	}
	return abs, false, nil
}

// connect opens one connection the way every connection is.
func (s *Store) connect(mode sqlite.OpenFlags) (conn, error) {
	c, err := sqlite.OpenConn(s.path, mode)
	if err != nil {
		return conn{}, s.translate("open", err)
	}
	c.SetBusyTimeout(s.patience)
	return conn{c}, nil
}

// prepare makes the writer's connection what the package promises and gives a new
// file its identity. Another process that opens the same file, or migrates it, can
// be in the way of every step.
func (s *Store) prepare(ctx context.Context) error {
	s.writer.SetBusyTimeout(shortWait)
	err := insist(ctx, s.patience, func() error {
		err := s.setUp()
		if !s.writer.AutocommitEnabled() {
			s.writer.exec(`ROLLBACK`)
		}
		return s.translate("open", err)
	})
	// From here on the writer's waiting is done by immediate, which minds contexts.
	s.writer.SetBusyTimeout(0)
	return err
}

func (s *Store) setUp() error {
	c := s.writer
	// A file that cannot be written is opened all the same, for reading: ask.
	if err := c.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if err := c.exec(`ROLLBACK`); err != nil {
		return err
	}
	var mode string
	_, err := c.q(`PRAGMA journal_mode = WAL`).one(func(stmt *sqlite.Stmt) { mode = stmt.ColumnText(0) })
	if err != nil {
		return err
	}
	if mode != "wal" {
		return refusal.New(refusal.InvalidRequest, s.path, "the file system of %s cannot keep a write-ahead log", s.path).
			WithFix("put the database on a local disk")
	}
	for _, pragma := range []string{
		`PRAGMA synchronous = FULL`,
		`PRAGMA foreign_keys = ON`,
		`PRAGMA secure_delete = ON`,
		`PRAGMA cache_size = -8192`,
	} {
		if err := c.q(pragma).rows(func(*sqlite.Stmt) error { return nil }); err != nil {
			return err
		}
	}
	var identity string
	_, err = c.q(`SELECT identity FROM store`).one(func(stmt *sqlite.Stmt) { identity = stmt.ColumnText(0) })
	if err != nil || identity != "" {
		return err
	}
	if err := c.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	// Another process may have been faster; its identity stands.
	err = c.q(`UPDATE store SET identity = ?, created = ? WHERE identity = ''`).text(id.New()).int(s.now().UnixMicro()).run()
	if err != nil {
		return err
	}
	return c.exec(`COMMIT`)
}

// Close waits for the calls under way, moves what is in the log into the file and
// closes it.
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	var err error
	for range cap(s.readers) {
		if c := <-s.readers; c.Conn != nil {
			err = errors.Join(err, c.Close())
		}
	}
	if s.scrubbing {
		s.scrub()
	} else {
		// The log is also emptied by whoever closes last; a failure loses nothing.
		s.writer.q(`PRAGMA wal_checkpoint(TRUNCATE)`).rows(func(*sqlite.Stmt) error { return nil })
	}
	return errors.Join(err, s.writer.Close())
}

// scrub removes from the files what was erased: it rewrites the database if rows
// had moved in it, and empties the log. Readers of an older snapshot can keep it
// from doing so; the next commit tries again. The caller has the writer.
func (s *Store) scrub() {
	c := s.writer
	var moved bool
	if _, err := c.q(`SELECT moved FROM store`).one(func(stmt *sqlite.Stmt) { moved = stmt.ColumnBool(0) }); err != nil {
		return
	}
	if moved {
		if c.exec(`VACUUM`) != nil || c.exec(`UPDATE store SET moved = 0`) != nil {
			return
		}
	}
	c.SetBusyTimeout(s.patience)
	defer c.SetBusyTimeout(0)
	c.q(`PRAGMA wal_checkpoint(TRUNCATE)`).one(func(stmt *sqlite.Stmt) {
		s.scrubbing = stmt.ColumnInt64(0) != 0
	})
}
