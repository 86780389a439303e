package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/slate-agents/slate/refusal"
)

// conn is a connection taken out of the pool. Statements are put into a trip with
// add and travel together with send. After an error of the connection itself it can
// only be released.
type conn struct {
	*lasting
	pool *pgxpool.Conn
	pg   *pgconn.PgConn
	// within is how long an answer may take.
	within  time.Duration
	pending []query
}

// lasting is what stays with a connection while it is in the pool.
type lasting struct {
	prepared []bool
	args     args
	// used says that the connection has worked before and may have died since.
	used bool
}

// query is one statement of a trip.
type query struct {
	statement *statement
	// row is called for each row; it may be nil.
	row func(row) error
	// parsed says that the trip prepares the statement.
	parsed bool
}

// lost is an error of the connection. What was sent may have arrived or not.
type lost struct{ err error }

func (l *lost) Error() string { return "the connection was lost: " + l.err.Error() }
func (l *lost) Unwrap() error { return l.err }

const customKey = "slate"

// The waits between two attempts to connect.
const (
	firstConnect = 10 * time.Millisecond
	longConnect  = 500 * time.Millisecond
)

// acquire takes a connection, making one where the pool has none idle. It gives up
// with the context or when the store's patience ends.
func (s *Store) acquire(ctx context.Context) (*conn, error) {
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for wait := firstConnect; ; wait = min(2*wait, longConnect) {
		pool, err := s.pool.Acquire(limited)
		if err == nil {
			if s.lastConnect.Load() != nil {
				s.lastConnect.Store(nil)
			}
			return s.connOf(pool), nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if limited.Err() == nil && passing(err) {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
				s.lastConnect.Store(&err)
				continue
			case <-limited.Done():
				timer.Stop()
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, s.unavailable(limited.Err() != nil, err)
	}
}

// unavailable says why there is no connection.
func (s *Store) unavailable(late bool, err error) error {
	stat := s.pool.Stat()
	// The pool only says that time ran out; what the server said came before.
	last := s.lastConnect.Load()
	switch {
	case !late || passing(err):
		return s.place.connectFailed(err)
	case stat.AcquiredConns() >= stat.MaxConns():
		return refusal.New(refusal.StoreBusy, s.place.String(), "all %d connections to %s were taken for %s",
			stat.MaxConns(), s.place, s.patience).
			WithFix("nothing was done: try again later, or give the store more connections")
	case last != nil:
		return s.place.connectFailed(*last)
	}
	return refusal.New(refusal.StoreBusy, s.place.String(), "the server of %s let nobody in for %s", s.place, s.patience).
		WithFix("nothing was done: try again later")
}

func (s *Store) connOf(pool *pgxpool.Conn) *conn {
	pg := pool.Conn().PgConn()
	stays, _ := pg.CustomData()[customKey].(*lasting)
	if stays == nil {
		stays = &lasting{}
		pg.CustomData()[customKey] = stays
	}
	return &conn{lasting: stays, pool: pool, pg: pg, within: 6 * s.patience}
}

// release gives the connection back; one that is broken or in a transaction is
// closed instead.
func (c *conn) release() { c.pool.Release() }

// abandon closes the connection without sending what was put into a trip, and gives
// it back. The server ends its transaction.
func (c *conn) abandon() {
	_ = c.pg.Conn().Close()
	_ = c.pg.Close(context.Background())
	c.pool.Release()
}

// bind begins the parameters of the next statement.
func (c *conn) bind() *args { return c.args.reset() }

var binary1 = []int16{1}

// add puts a statement with the parameters bound last into the trip.
func (c *conn) add(s *statement, f func(row) error) error {
	if c.args.err != nil {
		return c.args.err
	}
	c.put(s, c.args.values, f)
	return nil
}

// plain puts a statement without parameters into the trip.
func (c *conn) plain(s *statement, f func(row) error) { c.put(s, nil, f) }

func (c *conn) put(s *statement, values [][]byte, f func(row) error) {
	front := c.pg.Frontend()
	parse := s.number >= len(c.prepared) || !c.prepared[s.number]
	for i := 0; parse && i < len(c.pending); i++ {
		parse = c.pending[i].statement != s
	}
	if parse {
		front.SendParse(&pgproto3.Parse{Name: s.name, Query: s.sql})
	}
	front.SendBind(&pgproto3.Bind{PreparedStatement: s.name, ParameterFormatCodes: binary1, Parameters: values,
		ResultFormatCodes: binary1})
	front.SendExecute(&pgproto3.Execute{})
	c.pending = append(c.pending, query{s, f, parse})
}

// send makes the round trip: everything added goes out at once, and the rows of the
// answers go to their functions. Its error is a *lost, a *pgconn.PgError of the
// first statement that failed (those behind it were not run), or a function's.
func (c *conn) send() error {
	queries := c.pending
	c.pending = c.pending[:0]
	_ = c.pg.Conn().SetDeadline(time.Now().Add(c.within))
	front := c.pg.Frontend()
	front.SendSync(&pgproto3.Sync{})
	if err := front.Flush(); err != nil {
		return c.broken(err)
	}
	var failed error
	for n := 0; ; {
		message, err := c.pg.ReceiveMessage(context.Background())
		if err != nil {
			return c.broken(err)
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			if f := queries[n].row; f != nil && failed == nil {
				failed = f(row(m.Values))
			}
		case *pgproto3.ParseComplete:
			c.remember(queries[n].statement)
		case *pgproto3.CommandComplete:
			if queries[n].statement == commit && string(m.CommandTag) != "COMMIT" && failed == nil {
				failed = errRolledBack
			}
			n++
		case *pgproto3.ErrorResponse:
			failed = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			c.used = true
			return failed
		}
	}
}

var errRolledBack = errors.New("the server rolled the transaction back")

func (c *conn) remember(s *statement) {
	if c.prepared == nil {
		c.prepared = make([]bool, len(statements))
	}
	c.prepared[s.number] = true
}

// broken closes the connection. The server's last words are kept where there are any.
func (c *conn) broken(err error) error {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		err = said
	}
	// The closing is told to the server too, should it still be there.
	_ = c.pg.Conn().SetDeadline(time.Now())
	_ = c.pg.Close(context.Background())
	return &lost{err}
}

// roundTrip is send for statements that the context may stop: they are cancelled on
// the server, and the connection is closed, because a cancellation can come late.
func (c *conn) roundTrip(ctx context.Context) error {
	if ctx.Done() == nil {
		return c.send()
	}
	socket := c.pg.Conn()
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = socket.SetDeadline(time.Now())
		close(interrupted)
	})
	err := c.send()
	if stop() {
		return err
	}
	<-interrupted
	// The statement may be waiting for a lock and would not notice that we left.
	limited, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = c.pg.CancelRequest(limited)
	_ = c.broken(context.Cause(ctx))
	return context.Cause(ctx)
}
