package slate

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/authority"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/refusal"
)

// Restored says that the database was recognised, when it was opened, as an older
// copy than the authority record knows. A later epoch has begun: cursors from before
// are answered with a gap.
type Restored struct {
	// Why says by what the copy was recognised.
	Why string `json:"why"`
	// Epoch is the epoch that began.
	Epoch id.Epoch `json:"epoch"`
}

// Restored returns what was recognised when the system was opened, or nil.
func (s *System) Restored() *Restored { return s.restored }

// guard holds a store against its authority record. When the store is an older copy
// the record's epoch has been advanced, and the store's follows.
func guard(ctx context.Context, st store.Store, record *authority.File, log *slog.Logger) (*keeper, *Restored, error) {
	info, err := st.Info(ctx)
	if err != nil {
		return nil, nil, err
	}
	verdict, err := record.Check(info.Identity, standing(info))
	if err != nil {
		return nil, nil, err
	}
	k := &keeper{store: st, record: record, log: log}
	if !verdict.Older {
		return k, nil, nil
	}
	if err := st.SetEpoch(ctx, verdict.Epoch); err != nil {
		return nil, nil, err
	}
	if log != nil {
		log.Warn("the database is an older copy", "why", verdict.Why, "epoch", verdict.Epoch)
	}
	return k, &Restored{Why: verdict.Why, Epoch: verdict.Epoch}, nil
}

// stateFile is where the authority record of databases lies when nobody says where.
func stateFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", refusal.New(refusal.AuthorityMismatch, "authority", "there is no home folder to keep the authority record in: %v", err).
				WithFix("name a file for it, outside the database's backups")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "slate")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", refusal.New(refusal.AuthorityMismatch, dir, "the folder of the authority record cannot be made: %v", err).
			WithFix("name another file for it, outside the database's backups")
	}
	return filepath.Join(dir, "authority"), nil
}

func standing(info board.Info) authority.Standing {
	return authority.Standing{Epoch: info.Epoch, Lineage: info.Lineage, Mark: info.Mark}
}

// keeper notes in the authority record how far a store has come.
type keeper struct {
	store  store.Store
	record *authority.File
	log    *slog.Logger
	noted  authority.Standing
}

// noteEvery is how often a store's progress is noted: what was written since the
// last note can be missing from an older copy without being missed.
const noteEvery = time.Second

// run notes until ctx ends, and once more then.
func (k *keeper) run(ctx context.Context) {
	ticker := time.NewTicker(noteEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			k.note(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
			k.note(ctx)
		}
	}
}

// note records the store's progress. A failure is told and harms nothing else.
func (k *keeper) note(ctx context.Context) {
	info, err := k.store.Info(ctx)
	if err == nil {
		now := standing(info)
		if now == k.noted {
			return
		}
		if err = k.record.Note(info.Identity, now); err == nil {
			k.noted = now
			return
		}
	}
	if ctx.Err() == nil && k.log != nil {
		k.log.Warn("noting the store's progress in the authority record", "record", k.record.Path(), "error", err)
	}
}
