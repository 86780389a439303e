package postgres_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/board/boardtest"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/internal/store/storetest"
)

// schemas makes stores on the shared server and remembers in which schema each is.
type schemas struct {
	server *pgtest.Server
	names  sync.Map
}

func (s *schemas) open(t testing.TB, schema string, now func() time.Time) *postgres.Store {
	t.Helper()
	// The connections are told apart by the name of the application.
	st := open(t, s.server.URL(schema)+"&application_name="+schema, postgres.Options{Now: now, MaxConns: 10})
	s.names.Store(st, schema)
	return st
}

func (s *schemas) of(st any) string {
	name, _ := s.names.Load(st)
	return name.(string)
}

// copy copies what is committed, which is what a killed process leaves.
func (s *schemas) copy(t testing.TB, from string) string {
	t.Helper()
	to := s.server.Schema(t)
	open(t, s.server.URL(to), postgres.Options{}).Close()
	s.server.Exec(t, `DO $$ DECLARE t text; BEGIN
		SET LOCAL session_replication_role = replica;
		FOR t IN SELECT relname FROM pg_class WHERE relnamespace = '`+to+`'::regnamespace AND relkind = 'r'
			AND relname NOT LIKE 'goose%' LOOP
			EXECUTE format('DELETE FROM `+to+`.%I', t);
			EXECUTE format('INSERT INTO `+to+`.%1$I OVERRIDING SYSTEM VALUE
				SELECT (r).* FROM (SELECT o::text::`+to+`.%1$I AS r FROM `+from+`.%1$I o) x', t);
		END LOOP;
		PERFORM setval('`+to+`.marks', last_value, is_called) FROM `+from+`.marks;
		PERFORM setval('`+to+`.board_ids', nextval('`+from+`.board_ids'));
		PERFORM setval('`+to+`.tenants_id_seq', nextval('`+from+`.tenants_id_seq'));
	END $$`)
	return to
}

func TestContract(t *testing.T) {
	s := schemas{server: pgtest.Shared(t)}
	storetest.Run(t, storetest.Factory{
		Open: func(t testing.TB, now func() time.Time) store.Store { return s.open(t, s.server.Schema(t), now) },
	})
}

func TestBoards(t *testing.T) {
	s := schemas{server: pgtest.Shared(t)}
	kept := func(t testing.TB, schema string, now func() time.Time) board.Store {
		st := s.open(t, schema, now)
		t.Cleanup(func() { st.Close() })
		return st
	}
	boardtest.Run(t, boardtest.Factory{
		Open: func(t testing.TB, now func() time.Time) board.Store { return kept(t, s.server.Schema(t), now) },
		Reopen: func(t testing.TB, st board.Store, now func() time.Time) board.Store {
			if err := st.(*postgres.Store).Close(); err != nil {
				t.Fatal(err)
			}
			return kept(t, s.of(st), now)
		},
		Share: func(t testing.TB, st board.Store, now func() time.Time) board.Store { return kept(t, s.of(st), now) },
		Kill: func(t testing.TB, st board.Store, now func() time.Time) board.Store {
			return kept(t, s.copy(t, s.of(st)), now)
		},
		Newer: func(t testing.TB, st board.Store) error {
			if err := st.(*postgres.Store).Close(); err != nil {
				t.Fatal(err)
			}
			s.server.Exec(t, `UPDATE `+s.of(st)+`.store SET written_by = 999, readable_by = 999`)
			again, err := postgres.Open(ctx, s.server.URL(s.of(st)), postgres.Options{})
			if err == nil {
				again.Close()
			}
			return err
		},
	})
}

func TestFaults(t *testing.T) {
	s := schemas{server: pgtest.Shared(t)}
	storetest.Faults(t, storetest.Factory{
		Open: func(t testing.TB, now func() time.Time) store.Store { return s.open(t, s.server.Schema(t), now) },
	}, func(t testing.TB, st store.Store) storetest.Statements { return watch(t, s.server, s.of(st)) })
}

// rows makes PostgreSQL fail at single rows: triggers on every table count the rows
// as they are written and refuse the one that is meant.
type rows struct {
	server *pgtest.Server
	schema string
}

// The ways in which writing a row goes wrong.
const (
	// abort: the statement fails.
	abort = "abort"
	// late: every statement succeeds, and the commit is refused.
	late = "late"
)

func (r *rows) Ways() []string { return []string{abort, late} }

func (r *rows) exec(t testing.TB, statements ...string) {
	t.Helper()
	for i, sql := range statements {
		statements[i] = strings.ReplaceAll(sql, "%s", r.schema)
	}
	r.server.Exec(t, statements...)
}

func (r *rows) Arm(t testing.TB, n int, way string) {
	t.Helper()
	r.exec(t, `UPDATE %s.fault SET at = `+strconv.Itoa(n)+`, way = '`+way+`'; SELECT setval('%s.fault_rows', 1, false)`)
}

func (r *rows) Written(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(r.server.Value(t, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM `+r.schema+`.fault_rows`))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// watch gives every table its triggers.
func watch(t testing.TB, server *pgtest.Server, schema string) *rows {
	t.Helper()
	r := &rows{server, schema}
	r.exec(t, `CREATE TABLE %s.fault (at bigint, way text)`, `INSERT INTO %s.fault VALUES (0, '')`,
		`CREATE SEQUENCE %s.fault_rows`,
		`CREATE TABLE %s.fault_parents (id integer PRIMARY KEY)`,
		`CREATE TABLE %s.fault_orphans (parent integer REFERENCES %s.fault_parents DEFERRABLE INITIALLY DEFERRED)`,
		`CREATE FUNCTION %s.fault() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE n bigint := nextval('%s.fault_rows'); f record;
		BEGIN
			SELECT * INTO f FROM %s.fault;
			IF n = f.at AND f.way = 'abort' THEN RAISE 'made to fail'; END IF;
			IF n = f.at AND f.way = 'late' THEN
				INSERT INTO %s.fault_orphans VALUES (1);
			END IF;
			IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
			RETURN NEW;
		END $$`,
		`DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT relname FROM pg_class WHERE relnamespace = '%s'::regnamespace AND relkind = 'r'
				AND relname NOT LIKE 'fault%' AND relname NOT LIKE 'goose%' AND relname <> 'lifetime' LOOP
				EXECUTE format('CREATE TRIGGER fault BEFORE INSERT OR UPDATE OR DELETE ON %s.%I
					FOR EACH ROW EXECUTE FUNCTION %s.fault()', t);
			END LOOP; END $$`)
	return r
}
