// Package lockfile is a lock among the processes of one host that goes with the
// process that holds it, however that ends: who gets it knows that the one before
// is done or dead. The file itself stays; it holds nothing and may be removed when
// no process is left.
//
// It imports the standard library and the system's call; it must not know what is
// locked.
package lockfile
