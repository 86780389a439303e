// Package postgres is the store that keeps boards in a PostgreSQL database.
//
// A committed transaction survives the death of this process, of the server and the
// loss of power, as far as the server's own fsync and synchronous_commit are on; the
// store asks for synchronous_commit itself.
//
// A transaction is two round trips. The first begins, takes a lock for every wanted
// board in one order that all processes share, and then, in statements that see
// everything committed before the locks were granted, reads the clock and the facts.
// The second carries every row that was decided and the COMMIT. Statements are
// prepared once a connection, on first use and without a trip of their own.
//
// The lock of a board is an advisory lock of its tenant and name, the same whether
// the board exists or not. It costs no write, it is released after the commit became
// visible, and each update of a board's row also compares the revision that was read
// under it: a writer that did not take the lock makes a transaction run again and
// never goes unnoticed.
//
// A COMMIT whose answer was lost is resolved on another connection before anybody is
// answered (see resolve.go).
//
// Erased content is gone from every query with the commit. The bytes stay in a dead
// version of the row until autovacuum comes by, which entries ask of it at the first
// dead row, in unused parts of a page until they are written over, and in the
// server's log, replicas and backups as long as these are kept. The store starts no
// VACUUM itself: it would cost a pass over the table in somebody's call and promise
// no more.
//
// The package must not know any rule of the board, and no other driver. Errors of
// PostgreSQL are translated once, by SQLSTATE, in errors.go.
package postgres
