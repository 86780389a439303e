// Package refusal holds the stable codes by which Slate says no, and the value
// that carries one. A refusal is an answer, not a defect: the caller learns what
// was refused, why, and what can be done next. The package is a leaf; it knows no
// door and no store.
package refusal

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Code is a stable wire value. Codes are append-only: one that was published is
// never renamed and never reused.
type Code string

// The codes of the board (requirements B2 to B13). Admission, NotPermitted and
// RunClosed are the only causes of a board rejection; the rest are raised.
const (
	Admission      Code = "ADMISSION"
	NotPermitted   Code = "NOT_PERMITTED"
	RunClosed      Code = "RUN_CLOSED"
	Conflict       Code = "CONFLICT"
	UnknownBoard   Code = "UNKNOWN_BOARD"
	BoardExists    Code = "BOARD_EXISTS"
	RunOpen        Code = "RUN_OPEN"
	UnknownRegion  Code = "UNKNOWN_REGION"
	RegionExists   Code = "REGION_EXISTS"
	WrongKind      Code = "WRONG_KIND"
	KeyReused      Code = "KEY_REUSED"
	UnknownAgent   Code = "UNKNOWN_AGENT"
	AgentExists    Code = "AGENT_EXISTS"
	NeverNotified  Code = "NEVER_NOTIFIED"
	UnknownEntry   Code = "UNKNOWN_ENTRY"
	UnknownBlob    Code = "UNKNOWN_BLOB"
	CursorInvalid  Code = "CURSOR_INVALID"
	CursorGap      Code = "CURSOR_GAP"
	InvalidRequest Code = "INVALID_REQUEST"
	InvalidContent Code = "INVALID_CONTENT"
	TooLarge       Code = "TOO_LARGE"
)

// The codes of the machine (requirements M2 to M10).
const (
	MachineField     Code = "MACHINE_FIELD"
	NoMachine        Code = "NO_MACHINE"
	MachineInvalid   Code = "MACHINE_INVALID"
	MachineDiffers   Code = "MACHINE_DIFFERS"
	StaleSummons     Code = "STALE_SUMMONS"
	UndeclaredField  Code = "UNDECLARED_FIELD"
	HiddenField      Code = "HIDDEN_FIELD"
	WrongType        Code = "WRONG_TYPE"
	NotInEnum        Code = "NOT_IN_ENUM"
	ForeignKey       Code = "FOREIGN_KEY"
	ValidateFailed   Code = "VALIDATE_FAILED"
	ListFull         Code = "LIST_FULL"
	NoTransitionRole Code = "CANNOT_TRANSITION"
	AlteredRecord    Code = "ALTERED_RECORD"
	CannotMigrate    Code = "CANNOT_MIGRATE"
)

// The codes of the store and the writer.
const (
	StoreNewer    Code = "STORE_NEWER"
	StoreBusy     Code = "STORE_BUSY"
	StoreFull     Code = "STORE_FULL"
	StoreReadOnly Code = "STORE_READ_ONLY"
	StoreDamaged  Code = "STORE_DAMAGED"
	CommitUnknown Code = "COMMIT_UNKNOWN"
	Stopping      Code = "STOPPING"
	// AuthorityMismatch: the authority record cannot be used, or is older than the store.
	AuthorityMismatch Code = "AUTHORITY_MISMATCH"
)

// The codes of the agent protocol.
const (
	BadLine     Code = "BAD_LINE"
	UnknownCall Code = "UNKNOWN_CALL"
)

// Refusal says no. It is a value; it is an error too, so that a Go caller can
// return it and find it again with As.
type Refusal struct {
	// Code is stable and may be switched on.
	Code Code `json:"code"`
	// Message is one sentence for a person; its wording may change.
	Message string `json:"message"`
	// Fix says what the caller can do next. Empty when there is nothing to do.
	Fix string `json:"fix,omitempty"`
	// Ref is what the refusal refers to: a board, a region, a field, a key.
	Ref string `json:"ref,omitempty"`
	// Detail carries values a program may need, such as the current version.
	Detail map[string]any `json:"detail,omitempty"`
}

// New returns a refusal about ref. The message is formatted as by fmt.Sprintf.
func New(code Code, ref, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Ref: ref, Message: fmt.Sprintf(format, args...)}
}

// WithFix sets what the caller can do next and returns r.
func (r *Refusal) WithFix(format string, args ...any) *Refusal {
	r.Fix = fmt.Sprintf(format, args...)
	return r
}

// With sets one detail and returns r.
func (r *Refusal) With(name string, value any) *Refusal {
	if r.Detail == nil {
		r.Detail = map[string]any{}
	}
	r.Detail[name] = value
	return r
}

// Error is the one line a person reads: CODE: message (fix).
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(string(r.Code))
	b.WriteString(": ")
	b.WriteString(r.Message)
	if r.Fix != "" {
		b.WriteString(" (")
		b.WriteString(r.Fix)
		b.WriteString(")")
	}
	return b.String()
}

// Is makes errors.Is match two refusals by code.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code
}

// As returns the refusal in err's chain, if there is one.
func As(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}

// CodeOf returns the code of the refusal in err's chain, or "" when err is nil or
// a defect.
func CodeOf(err error) Code {
	if r, ok := As(err); ok {
		return r.Code
	}
	return ""
}

// List is the sorted, comma-separated form of names used in messages.
func List(names []string) string {
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	return strings.Join(sorted, ", ")
}
