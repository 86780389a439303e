package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var ctx = context.Background()

// under is a store behind a proxy, and the board area on it with a board "b".
func under(t *testing.T, url string, opts postgres.Options) (*postgres.Store, *boards.Service) {
	t.Helper()
	s := open(t, url, opts)
	t.Cleanup(func() { s.Close() })
	service := system(t, s)
	create(t, service, "b")
	return s, service
}

func write(service *boards.Service, key string) error {
	_, err := service.WriteLevel(ctx, writer, "b", wire.LevelWrite{Region: "notes", Content: payload, Key: key})
	return err
}

var theBoard = id.Ref{Tenant: writer.Tenant, Board: "b"}

// count is how often a key is on the record of board b.
func count(t *testing.T, s *postgres.Store, key string) int {
	t.Helper()
	entries, head, err := s.Entries(ctx, theBoard, board.EntryQuery{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if int(head) != len(entries) {
		t.Fatalf("%d entries, head %d", len(entries), head)
	}
	n := 0
	for _, e := range entries {
		if e.Key == key {
			n++
		}
	}
	return n
}

// A commit whose answer is lost is found to be there, one that never arrived is made
// again; the caller sees neither.
func TestLostCommit(t *testing.T) {
	server := pgtest.Shared(t)
	for _, c := range []struct {
		name string
		fail func(*pgtest.Proxy) <-chan struct{}
	}{
		{"after it was made", func(p *pgtest.Proxy) <-chan struct{} { return p.Lose("commit") }},
		{"before it arrived", func(p *pgtest.Proxy) <-chan struct{} { return p.Refuse("commit") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy := server.Proxy(t)
			s, service := under(t, proxy.URL(server.Schema(t)), postgres.Options{})
			struck := c.fail(proxy)
			if err := write(service, "k"); err != nil {
				t.Fatal(err)
			}
			<-struck
			if n := count(t, s, "k"); n != 1 {
				t.Fatalf("written %d times", n)
			}
		})
	}
}

// A transaction without an entry, and one that touched nothing but a machine's rows
// or a value, are resolved as well.
func TestLostCommitOfOtherThings(t *testing.T) {
	server := pgtest.Shared(t)
	proxy := server.Proxy(t)
	s, service := under(t, proxy.URL(server.Schema(t)), postgres.Options{})
	proxy.Lose("commit")
	if _, err := service.Register(ctx, writer, "b", wire.AgentDecl{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	proxy.Lose("commit")
	if _, err := service.PutBlob(ctx, writer, []byte("value")); err != nil {
		t.Fatal(err)
	}
	proxy.Lose("commit")
	if _, err := service.Abort(ctx, writer, "b", "over"); err != nil {
		t.Fatal(err)
	}
	proxy.Lose("commit")
	if err := service.Delete(ctx, writer, "b"); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Look(ctx, board.Want{Ref: theBoard}); err != nil || f.Found {
		t.Fatalf("%+v, %v", f, err)
	}
}

// While the server cannot be asked, a lost commit is unknown, and said to be.
func TestUnknownCommit(t *testing.T) {
	server := pgtest.New(t)
	proxy := server.Proxy(t)
	s, service := under(t, proxy.URL(server.Schema(t)), postgres.Options{Patience: 200 * time.Millisecond})
	struck := proxy.Stall("commit")
	done := make(chan error)
	go func() { done <- write(service, "k") }()
	<-struck
	server.Stop(t)
	proxy.Cut()
	if err := <-done; refusal.CodeOf(err) != refusal.CommitUnknown {
		t.Fatal(err)
	}
	server.Start(t)
	if n := count(t, s, "k"); n > 1 {
		t.Fatalf("written %d times", n)
	}
}

// A server that falls silent before the commit is given up: a write is made again, a
// read is refused.
func TestSilence(t *testing.T) {
	server := pgtest.Shared(t)
	proxy := server.Proxy(t)
	s, service := under(t, proxy.URL(server.Schema(t)), postgres.Options{Patience: 300 * time.Millisecond})
	proxy.Stall("begin")
	if err := write(service, "k"); err != nil {
		t.Fatal(err)
	}
	proxy.Stall("B") // whatever is asked
	if _, err := s.Info(ctx); refusal.CodeOf(err) != refusal.StoreBusy {
		t.Fatal(err)
	}
	if n := count(t, s, "k"); n != 1 {
		t.Fatalf("written %d times", n)
	}
}

// failing makes the first inserts of entries run a statement.
func failing(t *testing.T, server *pgtest.Server, schema string, times int, do string) {
	t.Helper()
	server.Exec(t,
		`CREATE SEQUENCE `+schema+`.failures`,
		`CREATE FUNCTION `+schema+`.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('`+schema+`.failures') <= `+fmt.Sprint(times)+` THEN `+do+`; END IF; RETURN NEW; END $$`,
		`CREATE TRIGGER fail BEFORE INSERT ON `+schema+`.entries FOR EACH ROW EXECUTE FUNCTION `+schema+`.fail()`)
}

// What loses against another transaction, or is ended by somebody before its commit,
// is run again until it is through.
func TestRunAgain(t *testing.T) {
	server := pgtest.Shared(t)
	for _, c := range []struct{ name, do, param string }{
		{"a serialization failure", `RAISE 'no' USING ERRCODE = '40001'`, ""},
		{"a deadlock", `RAISE 'no' USING ERRCODE = '40P01'`, ""},
		{"a statement timeout", `PERFORM pg_sleep(60)`, "&statement_timeout=100"},
		{"an administrator", `PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60)`, ""},
		{"somebody who cancels it", `PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60)`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := server.Schema(t)
			s, service := under(t, server.URL(schema)+c.param, postgres.Options{})
			failing(t, server, schema, 3, c.do)
			if err := write(service, "k"); err != nil {
				t.Fatal(err)
			}
			if n := count(t, s, "k"); n != 1 {
				t.Fatalf("written %d times", n)
			}
		})
	}
}

// What cannot be done is refused by the server's code.
func TestRefused(t *testing.T) {
	server := pgtest.Shared(t)
	for state, want := range map[string]refusal.Code{
		"53100": refusal.StoreFull, "25006": refusal.StoreReadOnly, "42501": refusal.StoreReadOnly,
		"XX001": refusal.StoreDamaged, "XX002": refusal.StoreDamaged, "58030": refusal.StoreDamaged,
		"53200": refusal.StoreBusy, "54000": refusal.TooLarge, "22021": refusal.InvalidRequest, "XX000": "",
	} {
		schema := server.Schema(t)
		s, service := under(t, server.URL(schema), postgres.Options{})
		failing(t, server, schema, 100, `RAISE 'no' USING ERRCODE = '`+state+`'`)
		if err := write(service, "k"); err == nil || refusal.CodeOf(err) != want {
			t.Errorf("%s: %v", state, err)
		}
		if n := count(t, s, "k"); n != 0 {
			t.Errorf("%s: written %d times", state, n)
		}
		if err := write(service, "\x00"); err == nil {
			t.Error("a NUL was written")
		}
	}
}

// A real deadlock with somebody else's transaction.
func TestDeadlock(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	s, service := under(t, server.URL(schema)+"&deadlock_timeout=2000", postgres.Options{})
	other := connect(t, server.URL(schema))
	exec(t, other, `SET deadlock_timeout = '1h'`, `BEGIN`, `LOCK TABLE regions IN EXCLUSIVE MODE`)
	done := make(chan error)
	go func() { done <- write(service, "k") }()
	waiting := `SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE c.relname = 'regions' AND c.relnamespace = '` + schema + `'::regnamespace AND NOT l.granted`
	for server.Value(t, waiting) == "0" {
	}
	exec(t, other, `SELECT pg_advisory_xact_lock(classid::bigint << 32 | objid::bigint) FROM pg_locks l
		WHERE locktype = 'advisory' AND granted AND pid IN (SELECT pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE c.relname = 'regions' AND c.relnamespace = '`+schema+`'::regnamespace AND NOT l.granted)`, `ROLLBACK`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "k"); n != 1 {
		t.Fatalf("written %d times", n)
	}
}

// A transaction that its client left lying is ended by the server; its caller is
// told to run it again.
func TestLeftLying(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	s, service := under(t, server.URL(schema)+"&application_name="+schema, postgres.Options{Patience: 100 * time.Millisecond})
	tx, facts, err := s.Begin(ctx, []board.Want{{Ref: theBoard}})
	if err != nil {
		t.Fatal(err)
	}
	for server.Value(t, `SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'
		AND application_name = '`+schema+`'`) != "0" {
	}
	row := facts[0].Row
	row.Rev++
	if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row}}}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); !errors.Is(err, board.ErrRetry) {
		t.Fatal(err)
	}
	if err := write(service, "k"); err != nil {
		t.Fatal(err)
	}
}

// A writer that takes no lock is noticed.
func TestUnlockedWriter(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	s, _ := under(t, server.URL(schema), postgres.Options{})
	tx, facts, err := s.Begin(ctx, []board.Want{{Ref: theBoard}})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	server.Exec(t, `UPDATE `+schema+`.boards SET rev = rev + 1`)
	row := facts[0].Row
	row.Rev++
	if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row}}}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); !errors.Is(err, board.ErrRetry) {
		t.Fatal(err)
	}
}

// Every connection taken is back-pressure with a clear answer, for readers and for
// writers.
func TestExhausted(t *testing.T) {
	server := pgtest.Shared(t)
	s, _ := under(t, server.URL(server.Schema(t)), postgres.Options{MaxConns: 2, Patience: 200 * time.Millisecond})
	if b := s.Batching(); !b.PerBoard || b.Parallel != 1 || b.Calls != board.MaxCalls {
		t.Fatalf("%+v", b)
	}
	var held []board.Tx
	for i := range 2 {
		tx, _, err := s.Begin(ctx, []board.Want{{Ref: id.Ref{Tenant: "t", Board: id.Board(fmt.Sprint(i))}}})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, tx)
	}
	if _, _, err := s.Begin(ctx, nil); refusal.CodeOf(err) != refusal.StoreBusy {
		t.Error(err)
	}
	if _, err := s.Look(ctx, board.Want{Ref: theBoard}); refusal.CodeOf(err) != refusal.StoreBusy {
		t.Error(err)
	}
	for _, tx := range held {
		tx.Rollback()
	}
	if _, err := s.Look(ctx, board.Want{Ref: theBoard}); err != nil {
		t.Error(err)
	}
}

// Two stores on one database write one board in turn.
func TestTwoStores(t *testing.T) {
	server := pgtest.Shared(t)
	url := server.URL(server.Schema(t))
	one, service := under(t, url, postgres.Options{})
	two := open(t, url, postgres.Options{})
	defer two.Close()
	const each = 60
	var wg sync.WaitGroup
	for i, other := range []*boards.Service{service, service, system(t, two), system(t, two)} {
		wg.Go(func() {
			for n := range each {
				if err := write(other, fmt.Sprint(i, "/", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, head, err := one.Entries(ctx, theBoard, board.EntryQuery{Limit: 1}); err != nil || head != 4*each {
		t.Fatalf("head %d, %v", head, err)
	}
	count(t, one, "")
}

// load writes keys from several writers until stop is closed and returns what each
// caller was told.
func load(service *boards.Service, stop <-chan struct{}) map[string]error {
	told := map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprint(w, "/", n)
				err := write(service, key)
				mu.Lock()
				told[key] = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return told
}

// Whatever happens to the server, every caller is told the truth: what was
// acknowledged is there once, what was refused is not.
func TestRestartUnderLoad(t *testing.T) {
	server := pgtest.New(t)
	for _, c := range []struct {
		name    string
		restart func()
	}{
		{"shut down", func() { server.Stop(t); server.Start(t) }},
		{"killed", func() { server.Kill(t); server.Start(t) }},
		{"crashed", func() { server.Crash(t) }},
		{"connections cut", func() { server.Terminate(t, "true") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, service := under(t, server.URL(server.Schema(t)), postgres.Options{})
			stop, done := make(chan struct{}), make(chan map[string]error)
			go func() { done <- load(service, stop) }()
			for range 3 {
				await(t, service, s)
				c.restart()
			}
			await(t, service, s)
			close(stop)
			told := <-done
			entries, head, err := s.Entries(ctx, theBoard, board.EntryQuery{Limit: 1 << 20})
			if err != nil || int(head) != len(entries) {
				t.Fatalf("%d entries, head %d, %v", len(entries), head, err)
			}
			written := map[string]int{}
			for i, e := range entries {
				written[e.Key]++
				if e.Seq != id.Seq(i+1) {
					t.Fatalf("entry %d has sequence number %d", i+1, e.Seq)
				}
			}
			codes := map[refusal.Code]int{}
			for key, err := range told {
				n := written[key]
				code := refusal.CodeOf(err)
				codes[code]++
				switch {
				case err == nil && n != 1:
					t.Errorf("%s was acknowledged and is there %d times", key, n)
				case err != nil && code != refusal.CommitUnknown && n != 0:
					t.Errorf("%s was refused (%v) and is there", key, err)
				case n > 1:
					t.Errorf("%s is there %d times", key, n)
				case err != nil && code == "":
					t.Errorf("%s: %v", key, err)
				}
			}
			t.Logf("told: %v", codes)
		})
	}
}

// await waits until the load has written some more.
func await(t *testing.T, service *boards.Service, s *postgres.Store) {
	t.Helper()
	first := id.Seq(0)
	for {
		f, err := s.Look(ctx, board.Want{Ref: theBoard})
		switch {
		case err != nil && refusal.CodeOf(err) != refusal.StoreBusy:
			t.Fatal(err)
		case err == nil && first == 0:
			first = f.Row.Head + 1
		case err == nil && f.Row.Head > first+200:
			return
		}
	}
}
