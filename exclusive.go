package slate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/lockfile"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/refusal"
)

// exclusive makes this process the only one that runs a machine's board, until
// release. It goes with the process: who gets it knows that whoever ran the board
// before is done or dead.
type exclusive func(ctx context.Context, b id.Board) (release func(), held bool, err error)

// inFolder excludes by a file beside the database.
func inFolder(data string) exclusive {
	return func(_ context.Context, b id.Board) (func(), bool, error) {
		sum := sha256.Sum256([]byte(b))
		return lockfile.Try(filepath.Join(data, fmt.Sprintf("run-%x.lock", sum[:8])))
	}
}

// inDatabase excludes by a lock of the database, among all who opened it.
func inDatabase(st *postgres.Store, o Options) exclusive {
	tenant := o.Tenant
	if tenant == "" {
		tenant = id.DefaultTenant
	}
	return func(ctx context.Context, b id.Board) (func(), bool, error) {
		return st.Exclusive(ctx, "run/"+id.Ref{Tenant: tenant, Board: b}.String())
	}
}

// inProcess excludes among the callers of a system that nobody else can open.
func inProcess() exclusive {
	var mu sync.Mutex
	running := map[id.Board]bool{}
	return func(_ context.Context, b id.Board) (func(), bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if running[b] {
			return nil, false, nil
		}
		running[b] = true
		return func() {
			mu.Lock()
			defer mu.Unlock()
			delete(running, b)
		}, true, nil
	}
}

// take excludes, or refuses STORE_BUSY while another process runs the board.
func (x exclusive) take(ctx context.Context, b id.Board) (func(), error) {
	release, held, err := x(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("slate: the lock of the run: %w", err)
	}
	if !held {
		return nil, refusal.New(refusal.StoreBusy, string(b), "another process runs board %q", b).
			WithFix("wait for it to end, look on with slate board tail, or run on another board")
	}
	return release, nil
}
