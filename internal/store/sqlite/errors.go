package sqlite

import (
	"fmt"

	"github.com/slate-agents/slate/refusal"
	"zombiezen.com/go/sqlite"
)

// translate turns an error of SQLite into a refusal where the caller can do
// something about it, and says what was being done where it is a defect.
func (s *Store) translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	return translate(s.path, doing, err)
}

func translate(path, doing string, err error) error {
	if _, ok := refusal.As(err); ok {
		return err
	}
	code := sqlite.ErrCode(err)
	var r *refusal.Refusal
	switch code.ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		r = refusal.New(refusal.StoreBusy, path, "%s: another process holds the database %s", doing, path).
			WithFix("try again; if it stays so, look for another process that has the file open")
	case sqlite.ResultFull:
		r = refusal.New(refusal.StoreFull, path, "%s: there is no space left for the database %s", doing, path).
			WithFix("free space on its disk and try again; nothing of this call was kept")
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultAuth:
		r = refusal.New(refusal.StoreReadOnly, path, "%s: the database %s cannot be written", doing, path).
			WithFix("make the file and its folder writable for this user")
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		r = refusal.New(refusal.StoreDamaged, path, "%s: the database %s is damaged", doing, path).
			WithFix("stop writing to it and restore a backup")
	case sqlite.ResultIOErr:
		r = refusal.New(refusal.StoreDamaged, path, "%s: the disk failed under the database %s", doing, path).
			WithFix("look at the system's log for the disk; restore a backup if the file is damaged")
	case sqlite.ResultTooBig:
		r = refusal.New(refusal.TooLarge, path, "%s: a value is larger than SQLite can store", doing)
	default:
		return fmt.Errorf("sqlite: %s: %w", doing, err)
	}
	return r.With("sqlite", code.String())
}
