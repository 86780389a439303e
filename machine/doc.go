// Package machine is the controller of a blackboard: it loads a machine document,
// keeps the typed context that agents contribute to, and decides, one write at a
// time, which state the run is in, whom it summons and when it ends (requirements
// M1 to M13).
//
// A Definition is a loaded document. A Run is a fold of the board's record: every
// context field is a region, a scalar a premise and a list or map a level, and one
// more level, JournalRegion, keeps what the machine itself did. A decision (Open,
// Write, Claim, Settle, Migrate) takes the next sequence number and the instant as
// arguments, changes the Run and returns the records to append, numbered in order.
// The caller appends all of them in one transaction or discards the Run.
//
//	     Open                     every required entry there,
//	      │                       a transition's guards hold
//	      ▼                        ┌────────────────────┐
//	┌──────────┐  Write, Settle  ┌─┴──────┐             │
//	│  entered ├────────────────▶│ gather │◀────────────┘ fired, entered
//	└──────────┘                 └─┬──────┘
//	                               │ terminal state, a bound, no transition open
//	                               ▼
//	                             ended
//
// The package is pure: no clock, no I/O, no goroutine, no randomness. It imports
// id, refusal and wire, the CEL library for guards and the YAML library for
// documents. It must not know stores, doors, notifications or who the caller is.
package machine
