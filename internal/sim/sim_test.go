package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/internal/store/sqlite"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this one seed")
	seedsFlag = flag.Int("seeds", 50, "how many seeds each store is run with")
	fromFlag  = flag.Uint64("from", 1, "the first of the seeds")
	stepsFlag = flag.Int("steps", 1000, "how many steps each seed draws")
)

// inMemory is a folder whose disk is not waited for, where the system has one: the
// processes that die here are not real ones.
func inMemory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "slate-sim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// stores are those that the system is run on. Each seed has one of its own.
var stores = []struct {
	name string
	make func(t *testing.T) Config
}{
	{"memory", func(*testing.T) Config { return Config{Steps: *stepsFlag, Open: openMemory} }},
	{"sqlite", func(t *testing.T) Config {
		path := filepath.Join(inMemory(t), "slate.db")
		return Config{Steps: *stepsFlag, Open: func(t *testing.T, now func() time.Time) store.Store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}}
	}},
	{"postgres", func(t *testing.T) Config {
		server := pgtest.Shared(t)
		url := server.URL(server.Schema(t))
		return Config{Polite: true, Steps: *stepsFlag, Open: func(t *testing.T, now func() time.Time) store.Store {
			s, err := postgres.Open(t.Context(), url, postgres.Options{Now: now, MaxConns: 10})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}}
	}},
}

func openMemory(_ *testing.T, now func() time.Time) store.Store {
	return memory.New(memory.Options{Now: now})
}

// TestSim runs the system with as many seeds as asked. One that fails says how it is
// run again.
func TestSim(t *testing.T) {
	for _, st := range stores {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			seeds := make([]uint64, 0, *seedsFlag)
			for i := range *seedsFlag {
				seeds = append(seeds, *fromFlag+uint64(i))
			}
			if *seedFlag != 0 {
				seeds = []uint64{*seedFlag}
			}
			var total Stats
			var done atomic.Int64
			var mu sync.Mutex
			begun := time.Now()
			t.Run("seeds", func(t *testing.T) {
				for _, seed := range seeds {
					t.Run(fmt.Sprint(seed), func(t *testing.T) {
						t.Parallel()
						failure, stats := Run(t, seed, st.make(t))
						if failure != nil {
							t.Errorf("%s\nrun it again: go test ./internal/sim -run 'TestSim/%s' -seed %d -steps %d", failure, st.name, seed, *stepsFlag)
						}
						mu.Lock()
						total.add(stats)
						mu.Unlock()
						if n := done.Add(1); n%100 == 0 {
							fmt.Printf("sim: %s: %d of %d seeds in %s: %+v\n", st.name, n, len(seeds), time.Since(begun).Round(time.Second), total)
						}
					})
				}
			})
			t.Logf("%d seeds: %+v", len(seeds), total)
			if len(seeds) >= 20 && (total.Commits == 0 || total.Faults == 0 || total.Kills == 0 || total.Uncertain == 0 || total.Repeats == 0 ||
				total.Conflicts == 0 || total.Told == 0 || total.Contributions == 0 || total.Ended == 0 || total.Closed == 0) {
				t.Error("something was not tried at all")
			}
		})
	}
}
