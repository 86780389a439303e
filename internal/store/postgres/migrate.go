package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/slate-agents/slate/internal/store/migrations"
	"github.com/slate-agents/slate/refusal"
)

// inspect looks at the database without changing it, and refuses what this program
// cannot use. It returns the newest migration applied, 0 when there is none, and the
// newest that there is.
func inspect(ctx context.Context, c *pgx.Conn, where place, schema string) (have, newest int64, err error) {
	newest = migrations.Newest(migrations.Postgres())
	pg := c.PgConn()
	if encoding := pg.ParameterStatus("server_encoding"); encoding != "UTF8" {
		return 0, 0, refusal.New(refusal.InvalidRequest, where.String(), "the database %s has the encoding %s", where, encoding).
			WithFix("make one with UTF8: createdb --encoding=UTF8 --template=template0 %s", where.database)
	}
	// One row: the schema in use, whether the server only replays another's log, the
	// stamp's table, whether it is ours, and how many other tables there are.
	home := `current_schema()`
	if schema != "" {
		home = `(SELECT nspname FROM pg_namespace WHERE nspname = ` + quote(schema) + `)`
	}
	rows, err := exec(ctx, pg, `WITH home AS (SELECT `+home+` AS name)
		SELECT coalesce(home.name, ''), pg_is_in_recovery(), s.oid IS NOT NULL,
			coalesce(obj_description(s.oid, 'pg_class') = 'Slate', false),
			(SELECT count(*) FROM pg_class o WHERE o.relnamespace = n.oid AND o.relkind IN ('r', 'p')
				AND o.relname <> 'goose_db_version')
		FROM home LEFT JOIN pg_namespace n ON n.nspname = home.name
		LEFT JOIN pg_class s ON s.relnamespace = n.oid AND s.relname = 'store' AND s.relkind = 'r'`)
	if err != nil {
		return 0, 0, where.translate("open", err)
	}
	r := rows[0]
	name, replica, stamped, ours, tables := r[0], r[1] == "t", r[2] == "t", r[3] == "t", r[4]
	switch {
	case replica:
		return 0, 0, refusal.New(refusal.StoreReadOnly, where.String(), "the server of %s is a standby and takes no writes", where).
			WithFix("name the primary server, or add target_session_attrs=read-write to the URL")
	case name == "" && schema != "":
		return 0, newest, nil
	case name == "":
		return 0, 0, refusal.New(refusal.InvalidRequest, where.String(), "none of the schemas in the search path of %s exists", where).
			WithFix("make one, or name one with search_path in the URL")
	case !stamped && tables == "0":
		return 0, newest, nil
	case !ours:
		return 0, 0, refusal.New(refusal.InvalidRequest, where.String(),
			"the schema %s of the database %s has other tables than Slate's; it was left as it is", name, where).
			WithFix("name another database, or an empty schema with search_path in the URL")
	}
	rows, err = exec(ctx, pg, `SELECT written_by, readable_by FROM `+pgx.Identifier{name, "store"}.Sanitize())
	if err != nil {
		return 0, 0, where.translate("open", err)
	}
	if len(rows) != 1 {
		return 0, 0, refusal.New(refusal.StoreDamaged, where.String(), "the database %s has lost its stamp", where).
			WithFix("restore a backup")
	}
	written, _ := strconv.ParseInt(rows[0][0], 10, 64)
	readable, _ := strconv.ParseInt(rows[0][1], 10, 64)
	if readable > newest {
		return 0, 0, refusal.New(refusal.StoreNewer, where.String(),
			"the database %s needs a program that knows schema %d; this one knows schema %d", where, readable, newest).
			WithFix("use the version of Slate that wrote it, or a later one").
			With("readableBy", readable).With("writtenBy", written).With("known", newest)
	}
	return written, newest, nil
}

func quote(text string) string {
	quoted := "'"
	for _, r := range text {
		if r == '\'' {
			quoted += "'"
		}
		quoted += string(r)
	}
	return quoted + "'"
}

// migrateLock is a number that nobody else is likely to use.
const migrateLock = 0x5c1a7e_0000_0001

// migrate applies the migrations that the database lacks. One process at a time does
// so, for as long as it has the connection; the others wait and then find nothing
// left to do.
func migrate(ctx context.Context, c *pgx.Conn, config *pgx.ConnConfig, where place, schema string) error {
	// Waiting for another process that migrates may take as long as that does.
	_, err := exec(ctx, c.PgConn(), fmt.Sprintf(`SET lock_timeout = 0; SELECT pg_advisory_lock(%d)`, int64(migrateLock)))
	if err == nil && schema != "" {
		_, err = exec(ctx, c.PgConn(), `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{schema}.Sanitize())
	}
	if err != nil {
		return migrateFailed(ctx, where, err)
	}
	if have, newest, err := inspect(ctx, c, where, schema); err != nil || have >= newest {
		return err
	}
	config = config.Copy()
	delete(config.RuntimeParams, "lock_timeout")
	delete(config.RuntimeParams, "idle_in_transaction_session_timeout")
	db := stdlib.OpenDB(*config)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Postgres(),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	_, err = provider.Up(ctx)
	return migrateFailed(ctx, where, err)
}

func migrateFailed(ctx context.Context, where place, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case stateOf(err) == "42501": // insufficient_privilege
		return refusal.New(refusal.StoreReadOnly, where.String(), "the user %s may not make tables in the database %s", where.user, where).
			WithFix("grant it the right to: GRANT CREATE ON SCHEMA … TO %s", where.user).With("sqlstate", "42501")
	case passing(err), retryable(err):
		return where.busy("migrate", err)
	}
	return where.translate("migrate", err)
}
