package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/refusal"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(ctx) })
	return c
}

func exec(t *testing.T, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// refused opens a URL, expects the code, and holds the message to its manners.
func refused(t *testing.T, url string, opts postgres.Options, want refusal.Code) {
	t.Helper()
	if opts.Patience == 0 {
		opts.Patience = time.Second
	}
	s, err := postgres.Open(ctx, url, opts)
	if err == nil {
		s.Close()
	}
	r, ok := refusal.As(err)
	switch {
	case !ok || r.Code != want:
		t.Errorf("%s: %v", url, err)
	case r.Fix == "":
		t.Errorf("no fix: %v", err)
	case strings.Contains(r.Error(), "s3cret"):
		t.Errorf("the password is shown: %v", err)
	default:
		t.Log(r.Error())
	}
}

func TestURL(t *testing.T) {
	server := pgtest.Shared(t)
	at := fmt.Sprintf("127.0.0.1:%d", server.Port)
	for _, url := range []string{"", "data.db", "mysql://u:s3cret@h/d", "postgres://u:s3cret%zz@h/d", "postgres://u:s3cret@h:99999/d",
		"postgres://u:s3cret@h/d?sslmode=what",
		"postgres://slate:s3cret@" + at + "/none?sslmode=disable", "postgres://stranger:s3cret@" + at + "/postgres?sslmode=disable"} {
		refused(t, url, postgres.Options{}, refusal.InvalidRequest)
	}
	refused(t, "postgres://u:s3cret@127.0.0.1:1/d?sslmode=disable", postgres.Options{}, refusal.StoreBusy)
	refused(t, "postgres://u:s3cret@no.such.host.invalid/d?sslmode=disable", postgres.Options{}, refusal.StoreBusy)
	refused(t, server.URL("nowhere"), postgres.Options{}, refusal.InvalidRequest)
	refused(t, server.URL(""), postgres.Options{MaxConns: 1}, refusal.InvalidRequest)
}

// What is not the store's is left as it is.
func TestSomebodyElses(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	server.Exec(t, `CREATE TABLE `+schema+`.store (one integer)`)
	tables := `SELECT count(*) FROM pg_class WHERE relnamespace = '` + schema + `'::regnamespace`
	before := server.Value(t, tables)
	refused(t, server.URL(schema), postgres.Options{}, refusal.InvalidRequest)
	refused(t, server.URL(""), postgres.Options{Schema: schema}, refusal.InvalidRequest)
	if after := server.Value(t, tables); after != before {
		t.Errorf("%s tables and indexes instead of %s", after, before)
	}
}

func TestNewerSchema(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	url := server.URL(schema)
	open(t, url, postgres.Options{}).Close()
	server.Exec(t, `UPDATE `+schema+`.store SET written_by = 9, readable_by = 1`)
	s := open(t, url, postgres.Options{})
	if info, err := s.Info(ctx); err != nil || info.Schema != 9 {
		t.Errorf("%+v, %v", info, err)
	}
	s.Close()
	server.Exec(t, `UPDATE `+schema+`.store SET readable_by = 9`)
	changed := `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE schemaname = '` + schema + `'`
	before := server.Value(t, changed)
	refused(t, url, postgres.Options{}, refusal.StoreNewer)
	if after := server.Value(t, changed); after != before {
		t.Errorf("%s rows changed instead of %s", after, before)
	}
}

// Several processes may be the first.
func TestFirstStarts(t *testing.T) {
	server := pgtest.Shared(t)
	for _, opts := range []postgres.Options{{}, {Schema: "first starts"}} {
		schema := ""
		if opts.Schema == "" {
			schema = server.Schema(t)
		} else {
			t.Cleanup(func() { server.Exec(t, `DROP SCHEMA "first starts" CASCADE`) })
		}
		identities := make([]string, 5)
		var wg sync.WaitGroup
		for i := range identities {
			wg.Go(func() {
				s, err := postgres.Open(context.Background(), server.URL(schema), opts)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				info, err := s.Info(ctx)
				if err != nil {
					t.Error(err)
				}
				identities[i] = info.Identity
			})
		}
		wg.Wait()
		for _, identity := range identities {
			if len(identity) != 36 || identity != identities[0] {
				t.Fatalf("identities %q", identities)
			}
		}
	}
}

// A user who may do nothing else than use its own schema can do everything.
func TestOrdinaryUser(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	server.Exec(t, `CREATE ROLE plain LOGIN`, `GRANT ALL ON SCHEMA `+schema+` TO plain`)
	t.Cleanup(func() { server.Exec(t, `DROP OWNED BY plain`, `DROP ROLE plain`) })
	url := strings.Replace(server.URL(schema), "slate@", "plain@", 1)
	_, service := under(t, url, postgres.Options{})
	if err := write(service, "k"); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, `REVOKE ALL ON ALL TABLES IN SCHEMA `+schema+` FROM plain`)
	if err := write(service, "l"); refusal.CodeOf(err) != refusal.StoreReadOnly {
		t.Error(err)
	}
	refused(t, url, postgres.Options{}, refusal.StoreReadOnly)
	other := server.Schema(t)
	refused(t, strings.Replace(server.URL(other), "slate@", "plain@", 1), postgres.Options{}, refusal.InvalidRequest)
	server.Exec(t, `GRANT USAGE ON SCHEMA `+other+` TO plain`)
	refused(t, strings.Replace(server.URL(other), "slate@", "plain@", 1), postgres.Options{}, refusal.StoreReadOnly)
}

// A server with no connection left is asked again for a while.
func TestTooManyConnections(t *testing.T) {
	server := pgtest.New(t, "max_connections=8", "superuser_reserved_connections=3")
	schema := server.Schema(t)
	server.Exec(t, `CREATE ROLE plain LOGIN`, `GRANT ALL ON SCHEMA `+schema+` TO plain`)
	url := strings.Replace(server.URL(schema), "slate@", "plain@", 1)
	s := open(t, url, postgres.Options{MaxConns: 8, Patience: 300 * time.Millisecond})
	defer s.Close()
	var held []board.Tx
	var err error
	for i := 0; i < 8 && err == nil; i++ {
		var tx board.Tx
		if tx, _, err = s.Begin(ctx, []board.Want{{Ref: id.Ref{Tenant: "t", Board: id.Board(fmt.Sprint(i))}}}); err == nil {
			held = append(held, tx)
		}
	}
	if refusal.CodeOf(err) != refusal.StoreBusy || len(held) != 5 || !strings.Contains(err.Error(), "no connection left") {
		t.Errorf("%d held: %v", len(held), err)
	}
	refused(t, url, postgres.Options{}, refusal.StoreBusy)
	for _, tx := range held {
		tx.Rollback()
	}
	if _, err := s.Info(ctx); err != nil {
		t.Error(err)
	}
}

// A database that takes no writes is refused.
func TestReadOnly(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	s, _ := under(t, server.URL(schema), postgres.Options{})
	frozen := server.URL(schema) + "&default_transaction_read_only=on"
	refused(t, frozen, postgres.Options{}, refusal.StoreReadOnly)
	refused(t, strings.Replace(frozen, schema, server.Schema(t), 1), postgres.Options{}, refusal.StoreReadOnly)
	if n := count(t, s, "k"); n != 0 {
		t.Error(n)
	}
}
