package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slate-agents/slate/refusal"
	"zombiezen.com/go/sqlite"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup copies the store into a new file as of one moment, while others go on
// reading and writing. The copy has the same identity and opens as a store. The
// file appears under its name only when it is complete and on the disk; one that
// exists is never overwritten.
func (s *Store) Backup(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return refusal.New(refusal.InvalidRequest, path, "%s exists; a backup overwrites nothing", path).
			WithFix("name a file that does not exist")
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return refusal.New(refusal.InvalidRequest, path, "the folder %s of the backup does not exist", dir).
			WithFix("create it: mkdir -p %s", dir)
	}
	part, err := os.CreateTemp(dir, filepath.Base(path)+".partial-*")
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return refusal.New(refusal.StoreReadOnly, path, "the folder %s of the backup cannot be written", dir).
				WithFix("make it writable for this user, or name another folder")
		}
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	partial := part.Name()
	defer os.Remove(partial)
	if err := part.Close(); err != nil {
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	err = s.read(ctx, "back up", func(c conn) error {
		// The first read fixes the moment that is copied.
		if err := c.q(`SELECT one FROM store`).rows(func(*sqlite.Stmt) error { return nil }); err != nil {
			return err
		}
		return copyPages(ctx, c, partial)
	})
	if err != nil {
		return err
	}
	return publish(partial, path)
}

func copyPages(ctx context.Context, c conn, to string) error {
	dst, err := sqlite.OpenConn(to, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer dst.Close()
	backup, err := sqlite.NewBackup(dst, "", c.Conn, "")
	if err != nil {
		return err
	}
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			backup.Close()
			return err
		}
		if more, err = backup.Step(backupPages); err != nil {
			backup.Close()
			return err
		}
	}
	return backup.Close()
}

// publish puts a complete file under its name without overwriting and makes both
// durable.
func publish(partial, path string) error {
	if err := sync(partial); err != nil {
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	err := os.Link(partial, path)
	if errors.Is(err, fs.ErrExist) {
		return refusal.New(refusal.InvalidRequest, path, "%s exists; a backup overwrites nothing", path).
			WithFix("name a file that does not exist")
	}
	if err != nil {
		// A file system without links.
		err = os.Rename(partial, path)
	}
	if err == nil {
		err = sync(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("sqlite: back up: %w", err)
	}
	return nil
}

func sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}
