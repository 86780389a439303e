package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	modernc "modernc.org/sqlite"

	"github.com/slate-agents/slate/internal/store/migrations"
	"github.com/slate-agents/slate/refusal"
	"zombiezen.com/go/sqlite"
)

// applicationID is what the first migration puts into the file's header.
const applicationID = 1399611764

// shortWait is how long SQLite itself waits for a lock while a file is opened;
// insist waits on.
const shortWait = 50 * time.Millisecond

// inspect reads the schema stamp of a file without changing the file, and refuses
// what this program cannot read. It returns the newest migration applied, 0 when
// the making of the file was interrupted before the first.
func inspect(path string, newest int64) (int64, error) {
	// Reading a database that has a log makes SQLite create files beside it. While
	// there is no log, everything is in the file and can be read as if from a disc.
	journal := beside(path, "-journal")
	if !journal && !beside(path, "-wal") {
		address := uri(path, url.Values{"immutable": {"1"}})
		have, err := inspectAs(path, newest, address, sqlite.OpenReadOnly|sqlite.OpenURI)
		if err == nil || refusal.CodeOf(err) == refusal.StoreNewer || refusal.CodeOf(err) == refusal.InvalidRequest {
			return have, err
		}
		// Somebody may have begun to write meanwhile.
	}
	have, err := inspectAs(path, newest, path, sqlite.OpenReadOnly)
	if journal && refusal.CodeOf(err) == refusal.StoreReadOnly {
		// Whoever was making or changing the schema died over it: what of it is in the
		// file has to be taken back before the file says anything.
		return inspectAs(path, newest, path, sqlite.OpenReadWrite)
	}
	return have, err
}

// beside says whether there may be a file with this ending beside the database.
func beside(path, ending string) bool {
	_, err := os.Stat(path + ending)
	return !errors.Is(err, fs.ErrNotExist)
}

// uri is a path with parameters in SQLite's form.
func uri(path string, values url.Values) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: values.Encode()}
	return u.String()
}

func inspectAs(path string, newest int64, address string, mode sqlite.OpenFlags) (int64, error) {
	raw, err := sqlite.OpenConn(address, mode)
	if err != nil {
		return 0, inspectFailed(path, err)
	}
	defer raw.Close()
	raw.SetBusyTimeout(shortWait)
	c := conn{raw}
	var application int64
	if _, err := c.q(`PRAGMA application_id`).one(func(stmt *sqlite.Stmt) { application = stmt.ColumnInt64(0) }); err != nil {
		return 0, inspectFailed(path, err)
	}
	if application != applicationID {
		foreign := int64(0)
		_, err := c.q(`SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN ('goose_db_version', 'sqlite_sequence')`).
			one(func(stmt *sqlite.Stmt) { foreign = stmt.ColumnInt64(0) })
		if err != nil {
			return 0, inspectFailed(path, err)
		}
		if application != 0 || foreign > 0 {
			return 0, notOurs(path)
		}
		return 0, nil
	}
	var written, readable int64
	found, err := c.q(`SELECT written_by, readable_by FROM store`).
		one(func(stmt *sqlite.Stmt) { written, readable = stmt.ColumnInt64(0), stmt.ColumnInt64(1) })
	if err != nil {
		return 0, inspectFailed(path, err)
	}
	if !found {
		return 0, refusal.New(refusal.StoreDamaged, path, "the database %s does not say which schema it has", path).
			WithFix("restore a backup")
	}
	if readable > newest {
		return 0, refusal.New(refusal.StoreNewer, path,
			"the database %s needs a program that knows schema %d; this one knows schema %d", path, readable, newest).
			WithFix("use the version of Slate that wrote it, or a later one").
			With("readableBy", readable).With("writtenBy", written).With("known", newest)
	}
	return written, nil
}

func notOurs(path string) error {
	return refusal.New(refusal.InvalidRequest, path, "%s is not a Slate database; it was left as it is", path).
		WithFix("name another file, or one that does not exist to start a new database")
}

// inspectFailed tells a file that is no database from one that cannot be read.
func inspectFailed(path string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB:
		return notOurs(path)
	case sqlite.ResultCantOpen:
		return refusal.New(refusal.StoreReadOnly, path, "the database %s cannot be opened", path).
			WithFix("make the file and its folder readable and writable for this user")
	}
	return translate(path, "open", err)
}

// migrate applies the migrations that the file lacks. It has the file to itself
// meanwhile: another process that opens the same new file waits and then finds
// nothing left to do.
func migrate(ctx context.Context, path string, patience time.Duration, newest int64) error {
	return insist(ctx, patience, func() error {
		busy := apply(ctx, path)
		if refusal.CodeOf(busy) != refusal.StoreBusy {
			return busy
		}
		// Somebody has it open, perhaps because the work is done.
		if have, err := inspect(path, newest); err != nil {
			return err
		} else if have < newest {
			return busy
		}
		return nil
	})
}

// apply runs the migrations, or is refused with STORE_BUSY.
func apply(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", uri(path, url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", shortWait.Milliseconds()), "locking_mode(EXCLUSIVE)", "synchronous(FULL)"}}))
	if err != nil {
		return fmt.Errorf("sqlite: migrate: %w", err)
	}
	defer db.Close()
	// One connection, so that the lock taken here is the migrations' own.
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `BEGIN EXCLUSIVE; COMMIT`); err != nil {
		return migrateFailed(path, err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrations.SQLite(),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("sqlite: migrate: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return migrateFailed(path, err)
	}
	if err := db.Close(); err != nil {
		return migrateFailed(path, err)
	}
	return nil
}

// migrateFailed translates an error of the driver that migrations run on.
func migrateFailed(path string, err error) error {
	var native *modernc.Error
	if !errors.As(err, &native) {
		return fmt.Errorf("sqlite: migrate %s: %w", path, err)
	}
	code := sqlite.ResultCode(native.Code())
	if code.ToPrimary() == sqlite.ResultCantOpen {
		return refusal.New(refusal.StoreReadOnly, path, "the database %s cannot be created", path).
			WithFix("make its folder writable for this user, or name another file")
	}
	return translate(path, "migrate", fmt.Errorf("%w: %w", code.ToError(), err))
}
