// Package sqlite is the store that keeps every board in one SQLite file.
//
// A committed transaction survives the death of the process and the loss of power:
// the file is in WAL mode with synchronous=FULL. One connection writes, in
// immediate transactions, one at a time; a few others read, each call from one
// snapshot, and neither side waits for the other. Several processes may open the
// file: SQLite's own locks order their writes.
//
// Erased content does not stay in the file: an erasure overwrites the bytes where
// they are, and the log that still had them is emptied after the commit.
//
// The package must not know any rule of the board, and no other driver. Errors of
// SQLite are translated once, by code, in errors.go.
package sqlite
