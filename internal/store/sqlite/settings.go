package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// Settings reads back, from the connection that writes, what decides how durable a
// commit is: the pragmas by name, as SQLite answers them.
func (s *Store) Settings(ctx context.Context, names ...string) (map[string]string, error) {
	if err := s.gate.Enter(); err != nil {
		return nil, err
	}
	defer s.gate.Leave()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.writing }()
	out := make(map[string]string, len(names))
	for _, name := range names {
		_, err := s.writer.q(`PRAGMA ` + name).one(func(stmt *sqlite.Stmt) { out[name] = stmt.ColumnText(0) })
		if err != nil {
			return nil, s.translate("read settings", err)
		}
	}
	return out, nil
}
