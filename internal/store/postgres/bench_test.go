package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/wire"
)

// payload is 300 bytes of JSON.
var payload = json.RawMessage(`{"text":"` + strings.Repeat("x", 289) + `"}`)

// writers is how many write at the same time.
const writers = 32

var writer = control.Principal{Tenant: "bench", Name: "analyst"}

// system is the board area on a store.
func system(tb testing.TB, s *postgres.Store) *boards.Service {
	tb.Helper()
	service, err := boards.New(context.Background(), control.NewWriter(s), boards.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return service
}

func create(tb testing.TB, service *boards.Service, name string) {
	tb.Helper()
	_, err := service.Create(context.Background(), writer, wire.CreateBoard{Board: id.Board(name),
		Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}}}, board.Callables{})
	if err != nil {
		tb.Fatal(err)
	}
}

// each runs b.N calls from as many goroutines as there are writers and reports calls
// a second.
func each(b *testing.B, server *pgtest.Server, call func(writer, n int) error) {
	b.Helper()
	theirs, ours := server.CPU(), cpu()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	begun := time.Now()
	for w := range writers {
		wg.Go(func() {
			for {
				n := int(next.Add(1))
				if n > b.N {
					return
				}
				if err := call(w, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "writes/s")
	// On a busy machine these say more than the clock.
	b.ReportMetric(float64((server.CPU()-theirs).Microseconds())/float64(b.N), "server-cpu-µs/write")
	b.ReportMetric(float64((cpu()-ours).Microseconds())/float64(b.N), "own-cpu-µs/write")
}

// cpu is how much processor time this process has taken.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// floor inserts the same rows into a table with the same indexes, one a transaction:
// what the database does when nobody governs it.
func floor(tb testing.TB, server *pgtest.Server, schema string, keyed bool) (insert func(w, n int) error, done func()) {
	tb.Helper()
	server.Exec(tb, `CREATE TABLE `+schema+`.raw (LIKE `+schema+`.entries INCLUDING ALL)`)
	config, err := pgxpool.ParseConfig(server.URL(schema))
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns, config.MinConns = writers, writers
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	digest := sha256.Sum256(payload)
	var heads [writers]int64
	return func(w, n int) error {
		heads[w]++
		var key any
		if keyed {
			key = fmt.Sprintf("key-%012d", n)
		}
		_, err := pool.Exec(context.Background(), `INSERT INTO raw (tenant, board, seq, version, at, region, kind, writer,
			key, digest, salt, content) VALUES (1, $1, $2, 0, $3, 'notes', 'level', $4, $5, $6, $7, $8)`,
			int64(w+1), heads[w], time.Now(), "analyst", key, digest[:], digest[:16], []byte(payload))
		return err
	}, pool.Close
}

func BenchmarkFloor(b *testing.B) {
	server := pgtest.Shared(b)
	for _, keyed := range []bool{true, false} {
		b.Run(fmt.Sprintf("keys=%v", keyed), func(b *testing.B) {
			schema := server.Schema(b)
			s := open(b, server.URL(schema), postgres.Options{})
			defer s.Close()
			insert, done := floor(b, server, schema, keyed)
			defer done()
			each(b, server, insert)
		})
	}
}

// BenchmarkWrite writes contributions through the writer.
func BenchmarkWrite(b *testing.B) {
	server := pgtest.Shared(b)
	for _, count := range []int{writers, 1} {
		for _, keyed := range []bool{true, false} {
			b.Run(fmt.Sprintf("boards=%d/keys=%v", count, keyed), func(b *testing.B) {
				s := open(b, server.URL(server.Schema(b)), postgres.Options{})
				defer s.Close()
				service := system(b, s)
				for i := range count {
					create(b, service, fmt.Sprint("b", i))
				}
				each(b, server, func(w, n int) error {
					body := wire.LevelWrite{Region: "notes", Content: payload}
					if keyed {
						body.Key = fmt.Sprintf("key-%012d", n)
					}
					_, err := service.WriteLevel(context.Background(), writer, id.Board(fmt.Sprint("b", w%count)), body)
					return err
				})
			})
		}
	}
}
