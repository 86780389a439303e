package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/refusal"
)

// place is where a database is, without the password.
type place struct{ server, database, user string }

func (p place) String() string { return p.server + "/" + p.database }

// stateOf is the SQLSTATE of an error of the server, or "".
func stateOf(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return ""
}

// isLost returns the loss of the connection that err is, or nil.
func isLost(err error) *lost {
	var l *lost
	errors.As(err, &l)
	return l
}

// retryable reports whether a transaction that failed before its COMMIT was sent
// lost against another one, or against somebody who ended it: nothing of it was
// kept, and it may do better the next time.
func retryable(err error) bool {
	var gone *lost
	if errors.As(err, &gone) {
		return stateOf(err) == "" || passingState(stateOf(err))
	}
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return errors.Is(err, errRolledBack)
	}
	switch said.Code {
	case "40001", "40P01", // serialization_failure, deadlock_detected
		"55P03",          // lock_not_available
		"57014",          // query_canceled: a statement_timeout, or somebody by hand
		"25P03", "25P04": // idle_in_transaction_session_timeout, transaction_timeout
		return true
	case "23502": // not_null_violation: the row was not at the revision that was read
		return said.TableName == "boards" && said.ColumnName == "rev"
	}
	return passingState(said.Code)
}

// passingState reports whether a server that says this may soon do better.
func passingState(code string) bool {
	switch code {
	case "57P01", "57P02", "57P03", "57P05", // shutting down, crashed, starting, idle too long
		"53300", // too_many_connections
		"25P03", "25P04":
		return true
	}
	return strings.HasPrefix(code, "08") // connection exceptions
}

// passing reports whether connecting may soon do better.
func passing(err error) bool {
	if code := stateOf(err); code != "" {
		return passingState(code)
	}
	var network net.Error
	var refused *pgconn.ConnectError
	return errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused)
}

// failed translates the error of a transaction that was not committed, or of a read.
func (s *Store) failed(doing string, err error) error {
	if err == nil || !retryable(err) {
		return s.place.translate(doing, err)
	}
	return fmt.Errorf("postgres: %s: %w: %w", doing, board.ErrRetry, err)
}

// busy is what is said when trying again has not helped.
func (p place) busy(doing string, err error) error {
	return refusal.New(refusal.StoreBusy, p.String(), "%s: the database %s could not do it: %s", doing, p, reason(err)).
		WithFix("nothing was done: try again later")
}

// reason is an error without the words around it.
func reason(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Message + " (" + said.Code + ")"
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Err.Error()
	}
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) {
		return refused.Unwrap().Error()
	}
	return err.Error()
}

// translate turns an error of PostgreSQL into a refusal where the caller can do
// something about it, and says what was being done where it is a defect.
func (p place) translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := refusal.As(err); ok || errors.Is(err, board.ErrRetry) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := stateOf(err)
	var r *refusal.Refusal
	switch {
	case code == "53100": // disk_full
		r = refusal.New(refusal.StoreFull, p.String(), "%s: there is no space left for the database %s", doing, p).
			WithFix("free space on the server's disk and try again; nothing of this call was kept")
	case code == "25006": // read_only_sql_transaction
		r = refusal.New(refusal.StoreReadOnly, p.String(), "%s: the database %s takes no writes", doing, p).
			WithFix("connect to the primary server, or set default_transaction_read_only to off")
	case code == "42501": // insufficient_privilege
		r = refusal.New(refusal.StoreReadOnly, p.String(), "%s: the user %s may not use the tables of the database %s", doing, p.user, p).
			WithFix("connect as the user that made them, or grant this one all rights on them")
	case strings.HasPrefix(code, "XX00") && code != "XX000", code == "58030", code == "58P01": // damage, io_error, a file is gone
		r = refusal.New(refusal.StoreDamaged, p.String(), "%s: the database %s is damaged, or the disk under it failed", doing, p).
			WithFix("look at the server's log; stop writing to it and restore a backup")
	case code == "22021", code == "22P05": // a character that the encoding has not
		r = refusal.New(refusal.InvalidRequest, p.String(), "%s: a text has a NUL character or is not UTF-8, which PostgreSQL cannot keep", doing).
			WithFix("leave it out")
	case code == "54000": // program_limit_exceeded
		r = refusal.New(refusal.TooLarge, p.String(), "%s: a value is larger than PostgreSQL can store or index", doing)
	case strings.HasPrefix(code, "53"): // out of some resource
		return p.busy(doing, err)
	default:
		return fmt.Errorf("postgres: %s: %w", doing, err)
	}
	return r.With("sqlstate", code)
}

// connectFailed translates the error of a connection that was not made.
func (p place) connectFailed(err error) error {
	code := stateOf(err)
	var r *refusal.Refusal
	switch {
	case code == "3D000": // invalid_catalog_name
		r = refusal.New(refusal.InvalidRequest, p.String(), "there is no database %s", p).
			WithFix("make it, for example: createdb %s", p.database)
	case strings.HasPrefix(code, "28"): // invalid authorization
		r = refusal.New(refusal.InvalidRequest, p.String(), "the server of %s does not let the user %s in: %s", p, p.user, reason(err)).
			WithFix("check the user and the password in the database's URL")
	case code == "42501":
		r = refusal.New(refusal.InvalidRequest, p.String(), "the user %s may not connect to the database %s", p.user, p).
			WithFix("grant it the right to: GRANT CONNECT ON DATABASE %s TO %s", p.database, p.user)
	case code == "53300":
		r = refusal.New(refusal.StoreBusy, p.String(), "the server of %s has no connection left: %s", p, reason(err)).
			WithFix("nothing was done: try again later, use fewer connections, or raise the server's max_connections")
	case code == "57P03":
		r = refusal.New(refusal.StoreBusy, p.String(), "the server of %s takes no connections yet: %s", p, reason(err)).
			WithFix("nothing was done: try again in a moment")
	case code != "":
		return p.translate("connect", err)
	default:
		r = refusal.New(refusal.StoreBusy, p.String(), "the server of %s cannot be reached: %s", p, reason(err)).
			WithFix("nothing was done: check that it is running and that the URL names its host and port")
	}
	if code != "" {
		r.With("sqlstate", code)
	}
	return r
}
