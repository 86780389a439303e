// Package boardtest is the suite that every store of boards passes, Slate's own and
// other people's (B16). A store's test hands Run a Factory; each sentence of the
// contract is a subtest of that name.
//
// The suite drives a store as an application does, through the one writer and the
// board area, and directly where a sentence is about the store itself. It must not
// know any store: what one cannot do it declares by name.
package boardtest

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
)

// Factory makes the stores that the suite runs on. A nil function is a thing that
// the store cannot do, and has to be declared in Exceptions.
type Factory struct {
	// Open returns a fresh, empty store that reads its time from now. Whatever has to
	// be released is registered with t.Cleanup.
	Open func(t testing.TB, now func() time.Time) board.Store
	// Reopen closes a store that Open returned and opens what it kept.
	Reopen func(t testing.TB, st board.Store, now func() time.Time) board.Store
	// Share opens what a store keeps a second time, as another process does, while
	// the first one stays open.
	Share func(t testing.TB, st board.Store, now func() time.Time) board.Store
	// Kill opens what would be left of a store if its process were killed at this
	// moment. The store itself stays open and its transactions under way.
	Kill func(t testing.TB, st board.Store, now func() time.Time) board.Store
	// Newer makes a store look as if a newer program had written it, opens it and
	// returns the error of that.
	Newer func(t testing.TB, st board.Store) error
	// Exceptions declares what is nil above, and why.
	Exceptions []Exception
}

// Exception is one thing that a store cannot do.
type Exception struct {
	Name   Capability
	Reason string
}

// Capability names what a store may be unable to do.
type Capability string

// The capabilities, one for each optional function of a Factory.
const (
	Reopen      Capability = "Reopen"
	SharedFile  Capability = "SharedFile"
	Kill        Capability = "Kill"
	NewerSchema Capability = "NewerSchema"
)

// sentence is one sentence of the contract and what holds a store to it.
type sentence struct {
	says string
	hold func(t *testing.T, r *rig)
}

// chapter is the sentences about one thing.
type chapter struct {
	name      string
	sentences []sentence
}

// Run holds the stores that f makes to the contract.
func Run(t *testing.T, f Factory) {
	if f.Open == nil {
		t.Fatal("boardtest: a Factory needs Open")
	}
	declared(t, f)
	for _, c := range []chapter{
		{"record", record}, {"content", content}, {"repeats", repeats}, {"checks", checks},
		{"create", create}, {"attach and delete", attach}, {"limits", limits}, {"outcomes", outcomes},
		{"agents", agents}, {"notifications", notifications}, {"windows", windows}, {"outbox", outbox},
		{"failures", failures}, {"acknowledgments", acknowledgments}, {"sweep", sweep}, {"blobs", blobs},
		{"erasure", erasure}, {"pages", pages}, {"surface", surface}, {"store", contract},
		{"lists", lists}, {"processes", processes}, {"concurrency", concurrency},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range c.sentences {
				t.Run(s.says, func(t *testing.T) {
					t.Parallel()
					s.hold(t, newRig(t, f))
				})
			}
		})
	}
}

// declared holds a Factory to its exceptions: what is absent is declared, and what
// is declared is absent.
func declared(t *testing.T, f Factory) {
	absent := map[Capability]bool{Reopen: f.Reopen == nil, SharedFile: f.Share == nil, Kill: f.Kill == nil, NewerSchema: f.Newer == nil}
	said := map[Capability]bool{}
	for _, e := range f.Exceptions {
		_, known := absent[e.Name]
		switch {
		case !known:
			t.Errorf("boardtest: there is no capability %q", e.Name)
		case said[e.Name]:
			t.Errorf("boardtest: exception %s is declared twice", e.Name)
		case e.Reason == "":
			t.Errorf("boardtest: exception %s has no reason", e.Name)
		case !absent[e.Name]:
			t.Errorf("boardtest: exception %s is declared, and the Factory can do it", e.Name)
		}
		said[e.Name] = true
		t.Logf("exception %s: %s", e.Name, e.Reason)
	}
	for name, is := range absent {
		if is && !said[name] {
			t.Errorf("boardtest: the Factory cannot do %s and does not declare it", name)
		}
	}
}
