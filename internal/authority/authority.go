// Package authority keeps the authority record: what is known of a store outside
// the store and its backups, so that an older copy of the database, put back with
// nothing declared, is recognised when it is opened (decision 11 of the
// architecture; requirement R6 builds on it).
//
// The record here is a file for one host. The package compares and writes; what an
// older copy means to cursors and calls is decided by who opens the store. It must
// not know boards or SQL.
package authority

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/lockfile"
	"github.com/slate-agents/slate/refusal"
)

// Standing is what a record says of one store, or a store of itself.
type Standing struct {
	Epoch id.Epoch `json:"epoch"`
	// Lineage names the physical history the store belongs to; a copy that became a
	// history of its own has another one. Empty where the store cannot tell.
	Lineage string `json:"lineage,omitempty"`
	// Mark grows with what is written. A store whose mark is below the record's lacks
	// something that was written.
	Mark int64 `json:"mark"`
}

// File is an authority record in a file. Its methods may be called by several
// processes at once.
type File struct{ path string }

// Open returns the record in the file at path, which need not exist yet.
func Open(path string) *File { return &File{path: path} }

// Path is where the record lies.
func (f *File) Path() string { return f.path }

// record is the file's content: one standing a store, by its identity.
type record struct {
	Version int                 `json:"version"`
	Stores  map[string]Standing `json:"stores"`
}

// version is the record's format.
const version = 1

// Verdict is what comparing a store with its record came to.
type Verdict struct {
	// Known is false when the record did not have the store: it is trusted from now on.
	Known bool
	// Older is set when the store is a copy of an earlier state than the record knows.
	Older bool
	// Why says by what it was recognised.
	Why string
	// Epoch is the epoch that the store is to be in. The record says so already.
	Epoch id.Epoch
}

// Check compares a store with the record at the moment it is opened. For an older
// copy it advances the record's epoch first, so that the caller can follow with the
// store's: a crash in between is recognised again. AUTHORITY_MISMATCH refuses a
// store that is in a later epoch than the record.
func (f *File) Check(identity string, now Standing) (Verdict, error) {
	var v Verdict
	err := f.update(true, func(r *record) (bool, error) {
		have, known := r.Stores[identity]
		v = Verdict{Known: known, Epoch: now.Epoch}
		switch {
		case !known:
			r.Stores[identity] = now
			return true, nil
		case now.Epoch > have.Epoch:
			return false, refusal.New(refusal.AuthorityMismatch, f.path,
				"the database is in epoch %d and the authority record in %s knows only epoch %d: the record is older than the database", now.Epoch, f.path, have.Epoch).
				WithFix("put the newest authority record back, or remove the file to trust the database as it is")
		case now.Epoch < have.Epoch:
			v.Why = fmt.Sprintf("it is in epoch %d, the record in epoch %d", now.Epoch, have.Epoch)
		case have.Lineage != "" && now.Lineage != "" && now.Lineage != have.Lineage:
			v.Why = fmt.Sprintf("it belongs to history %s, the record to %s", now.Lineage, have.Lineage)
		case now.Mark < have.Mark:
			v.Why = fmt.Sprintf("it ends at mark %d, the record has seen mark %d", now.Mark, have.Mark)
		default:
			r.Stores[identity] = now
			return now != have, nil
		}
		v.Older = true
		v.Epoch = max(have.Epoch, now.Epoch) + 1
		now.Epoch = v.Epoch
		r.Stores[identity] = now
		return true, nil
	})
	return v, err
}

// Note records how far a store has come. It never lowers a mark and does not wait
// for the disk: a note that is lost makes an older copy harder to recognise, and
// nothing else.
func (f *File) Note(identity string, now Standing) error {
	return f.update(false, func(r *record) (bool, error) {
		have, known := r.Stores[identity]
		if !known || have.Epoch != now.Epoch || now.Mark <= have.Mark {
			return false, nil
		}
		r.Stores[identity] = now
		return true, nil
	})
}

// update reads the record, changes it and writes it back as one step among the
// processes of this host. sync makes the result durable before it returns.
func (f *File) update(sync bool, change func(*record) (bool, error)) error {
	unlock, err := lockfile.Wait(f.path + ".lock")
	if err != nil {
		return f.unusable(err)
	}
	defer unlock()
	r := record{Version: version, Stores: map[string]Standing{}}
	data, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return f.unusable(err)
	default:
		r = record{}
		if err := json.Unmarshal(data, &r); err != nil || r.Stores == nil {
			return refusal.New(refusal.AuthorityMismatch, f.path, "%s is no authority record: %v", f.path, err).
				WithFix("put the newest authority record back, or remove the file to trust the database as it is")
		}
		if r.Version != version {
			return refusal.New(refusal.AuthorityMismatch, f.path, "the authority record in %s has format %d, this program knows %d", f.path, r.Version, version).
				WithFix("use a newer program")
		}
	}
	changed, err := change(&r)
	if err != nil || !changed {
		return err
	}
	data, err = json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(f.path, append(data, '\n'), sync); err != nil {
		return f.unusable(err)
	}
	return nil
}

func (f *File) unusable(err error) error {
	return refusal.New(refusal.AuthorityMismatch, f.path, "the authority record cannot be used: %v", err).
		WithFix("make %s writable, or name another place for it", filepath.Dir(f.path))
}

// replace writes a file in one step: readers see the old or the new content.
func replace(path string, data []byte, sync bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil && sync {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil || !sync {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
