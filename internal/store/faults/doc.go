// Package faults stands between a writer and its store and makes go wrong what can
// go wrong there: a call fails, fails after it was applied, loses its answer, takes
// long, loses against another transaction, finds its transaction rolled back, or is
// the last thing its process did. A plan decides for every call; without one the
// store behaves as the one it wraps.
//
// One Store is one process's view of a database: killing it throws away the
// transactions it had open and refuses everything after, as a dead process would,
// while the database stays for the next Store that wraps it.
//
// It must not know any driver, and no rule of a board or a machine. An area that
// adds operations to the contract registers them in a file of its own here.
package faults
