package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Exclusive takes a lock by name among everybody who opened this store, if nobody
// holds it. It is a lock of a connection's own: the server lets it go when the
// process that holds it is gone. A server that restarts lets it go too; whoever
// relies on it must be safe then by other means, as a summons is by its generation.
func (s *Store) Exclusive(ctx context.Context, name string) (release func(), held bool, err error) {
	if err := s.gate.Enter(); err != nil {
		return nil, false, err
	}
	defer s.gate.Leave()
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	c, err := pgx.ConnectConfig(limited, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, false, s.place.connectFailed(err)
	}
	close := func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		c.Close(limited)
	}
	err = c.QueryRow(limited, `SELECT pg_try_advisory_lock(hashtextextended($1 || '/' || $2, 0))`, s.identity, name).Scan(&held)
	if err != nil {
		close()
		return nil, false, s.place.translate("take a lock", err)
	}
	if !held {
		close()
		return nil, false, nil
	}
	return close, true, nil
}
