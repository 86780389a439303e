// Package control is the pipeline that every change of state goes through: a call
// is queued, its boards are locked and loaded, a decider decides it, what was
// decided is applied and committed together with that of its batch-mates, and then
// it is answered. The package also holds the method table: the one list of what
// can be called, from which doors and tests are derived.
//
// It must not know what any area decides: areas live in the packages below it and
// register their methods. It knows no database and no transport.
package control
