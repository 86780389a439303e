package machine

import "time"

// Status is where a summons stands.
type Status string

// The statuses of a summons. A new attempt is pending again.
const (
	// Pending: to be sent when it is due.
	Pending Status = "pending"
	// Sent: somebody holds it, or held it until its lease ran out.
	Sent Status = "sent"
	// Settled: answered, or overtaken by a later state entry or the run's end.
	Settled Status = "settled"
)

// Summons is the row of one agent's latest summons. Generation, lease and holder
// are not in the journal; the caller keeps them in the row.
type Summons struct {
	Agent string `json:"agent"`
	// Entry is the state entry it belongs to, Attempt how often the agent was asked
	// in it, both from 1.
	Entry   int `json:"entry"`
	Attempt int `json:"attempt"`
	// Generation grows with every claim and never goes back; only the newest may
	// write or settle.
	Generation int64  `json:"generation"`
	Status     Status `json:"status"`
	// Due is when a pending summons may be claimed.
	Due time.Time `json:"due,omitzero"`
	// LeaseUntil is when a sent summons may be claimed again.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	// SentAt is when the attempt was first sent.
	SentAt time.Time `json:"sentAt,omitzero"`
	Holder string    `json:"holder,omitempty"`
	// Failure is why the attempt before this one did not settle the summons.
	Failure string `json:"failure,omitempty"`
}

// Settlement says that the holder of a summons stopped working on it.
type Settlement struct {
	Agent      string
	Generation int64
	// Acknowledged is the agent's own word; Failure says why there was none.
	Acknowledged bool
	Failure      string
}
