// Package id holds the typed names of things: tenants, boards, regions, agents,
// positions. It is a leaf: it imports the standard library and a UUID source and
// knows nothing of what the names stand for.
package id

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Tenant separates one customer of a store from another. Every key in a store
// begins with it.
type Tenant string

// DefaultTenant is the tenant of an embedded system that serves one application.
const DefaultTenant Tenant = "default"

// Board names a board inside its tenant. The caller supplies it; nothing
// interprets it.
type Board string

// Ref is a board's full address.
type Ref struct {
	Tenant Tenant
	Board  Board
}

// String is the form used in messages: tenant/board.
func (r Ref) String() string { return string(r.Tenant) + "/" + string(r.Board) }

// Seq is a sequence number: a write's position in its board's total order,
// counted from 1, and its address.
type Seq int64

// Version is a premise's revision count. A premise without a value has version 0.
type Version int64

// Epoch counts the lives of a store: a restore begins a new one, so that what an
// earlier life promised (cursors, leases) can be recognised as old.
type Epoch int64

// Digest is the lower-case hexadecimal SHA-256 of a content-addressed value.
type Digest string

// New returns a fresh time-ordered identifier (UUID version 7).
func New() string { return uuid.Must(uuid.NewV7()).String() }

// MaxName is the longest name, in bytes, that a tenant, board, region, agent,
// writer or idempotency key may have.
const MaxName = 256

// CheckName returns an error that says what is wrong with a name, or nil. what
// says whose name it is ("board", "region"). A name is 1 to MaxName bytes of valid
// UTF-8 without control characters, and neither begins nor ends with a space.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s: the name is empty", what)
	case len(name) > MaxName:
		return fmt.Errorf("%s: the name has %d bytes, the limit is %d", what, len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s: the name is not valid UTF-8", what)
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s %q: the name has a control character", what, name)
		}
	}
	if first, last := name[0], name[len(name)-1]; first == ' ' || last == ' ' {
		return fmt.Errorf("%s %q: the name begins or ends with a space", what, name)
	}
	return nil
}
