package faults

import "slices"

// Op is one operation of the store's contract.
type Op struct {
	// Area is whose rows it is about: "board", "machine".
	Area string
	Name string
	// Tx says that the operation is made in a transaction, Ends that it ends one.
	Tx, Ends bool
}

func (o Op) String() string { return o.Area + "." + o.Name }

// table is every operation that a fault can meet. Each area adds its own.
var table []Op

func register(o Op) Op {
	table = append(table, o)
	return o
}

// Operations lists every operation that a fault can meet.
func Operations() []Op { return slices.Clone(table) }

// The operations of the board area.
var (
	Begin    = register(Op{Area: "board", Name: "Begin"})
	Look     = register(Op{Area: "board", Name: "Look"})
	Entries  = register(Op{Area: "board", Name: "Entries"})
	Boards   = register(Op{Area: "board", Name: "Boards"})
	Blob     = register(Op{Area: "board", Name: "Blob"})
	More     = register(Op{Area: "board", Name: "More", Tx: true})
	Reread   = register(Op{Area: "board", Name: "Tx.Entries", Tx: true})
	Apply    = register(Op{Area: "board", Name: "Apply", Tx: true})
	Commit   = register(Op{Area: "board", Name: "Commit", Tx: true, Ends: true})
	Rollback = register(Op{Area: "board", Name: "Rollback", Tx: true, Ends: true})
)

// Kind is one way in which a call goes wrong.
type Kind string

// The kinds of faults.
const (
	// None lets the call through.
	None Kind = ""
	// Failed: nothing happened, and the answer is an error.
	Failed Kind = "failed"
	// Applied: it happened, and the answer is an error. A commit is answered
	// COMMIT_UNKNOWN, as a driver must answer one that it cannot look up. A
	// transaction that began so is given up.
	Applied Kind = "failed after it was applied"
	// Lost: a commit that kept nothing is answered COMMIT_UNKNOWN all the same.
	Lost Kind = "lost"
	// Resolved: the answer to a commit that was kept is lost, and a look at the
	// database finds the commit there.
	Resolved Kind = "answer lost and looked up"
	// Retry: the transaction lost against another one and nothing of it was kept.
	Retry Kind = "to be run again"
	// RolledBack: the call fails and the database has ended the transaction by itself.
	RolledBack Kind = "rolled back by the database"
	// Slow: the call takes long.
	Slow Kind = "slow"
	// Killed: the process dies before the call does anything.
	Killed Kind = "killed before"
	// KilledAfter: the process dies after the call was done and before its answer.
	KilledAfter Kind = "killed after"
)

// Kinds lists every kind of fault.
func Kinds() []Kind {
	return []Kind{Failed, Applied, Lost, Resolved, Retry, RolledBack, Slow, Killed, KilledAfter}
}

// Meets says whether an operation can go wrong in that way.
func (k Kind) Meets(o Op) bool {
	switch k {
	case Lost, Resolved:
		return o == Commit
	case Failed:
		// A rollback that did not roll back is no rollback: the contract has none.
		return o != Rollback
	case Retry:
		return o.Tx && o != Rollback || o == Begin
	case RolledBack:
		return o.Tx && o != Rollback
	}
	return true
}
