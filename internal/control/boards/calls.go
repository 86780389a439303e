package boards

import (
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/wire"
)

// target is the board that a call acts on, and whether the caller holds a
// termination predicate for it.
type target struct {
	ref       id.Ref
	predicate bool
}

func (t target) Wants() []board.Want { return []board.Want{{Ref: t.ref}} }

// begin returns the state to decide on and the environment to decide in.
func (t target) begin(turn *control.Turn) (*board.State, board.Env) {
	env := turn.Env
	env.Predicate = t.predicate
	return turn.Board(t.ref), env
}

type create struct {
	target
	body wire.CreateBoard
}

func (c create) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Create(env, c.body)
}

type attach struct {
	target
	body wire.AttachBoard
}

func (c attach) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Attach(env, c.body)
}

type remove struct{ target }

func (c remove) Decide(t *control.Turn) (any, error) {
	st, _ := c.begin(t)
	return nil, st.Delete()
}

type register struct {
	target
	body wire.AgentDecl
}

func (c register) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Register(env, c.body)
}

type writeLevel struct {
	target
	writer  string
	body    wire.LevelWrite
	verdict board.Verdict
}

func (c writeLevel) Wants() []board.Want {
	return []board.Want{{Ref: c.ref, Keys: keys(c.body.Key), Blobs: c.body.Blobs}}
}

func (c writeLevel) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.WriteLevel(env, c.writer, c.body, c.verdict)
}

type writePremise struct {
	target
	writer  string
	body    wire.PremiseWrite
	verdict board.Verdict
}

func (c writePremise) Wants() []board.Want {
	return []board.Want{{Ref: c.ref, Keys: keys(c.body.Key), Blobs: c.body.Blobs}}
}

func (c writePremise) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.WritePremise(env, c.writer, c.body, c.verdict)
}

func keys(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

type acknowledge struct {
	target
	agent string
	body  wire.Acknowledge
}

func (c acknowledge) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return nil, st.Acknowledge(env, c.agent, c.body.Through)
}

type abort struct {
	target
	reason string
}

func (c abort) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Abort(env, c.reason)
}

type expire struct {
	target
	judgement *board.Judgement
}

func (c expire) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Expire(env, c.judgement)
}

type erase struct {
	target
	by   string
	body wire.Erase
}

func (c erase) Wants() []board.Want {
	return []board.Want{{Ref: c.ref, Entries: slices.Clone(c.body.Seqs)}}
}

func (c erase) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	n, err := st.Erase(env, c.by, c.body)
	return n, err
}

// claim takes what is due for the agents that this process reaches: those with a
// callable, by name, and with a transport those that have an address.
type claim struct {
	target
	lease     time.Duration
	names     map[string]bool
	addresses bool
}

func (c claim) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Claim(env, c.lease, func(a *board.Agent) bool {
		return c.names[a.Name] || (c.addresses && a.Address != "")
	}), nil
}

type settle struct {
	target
	settled []board.Settlement
}

func (c settle) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	for _, s := range c.settled {
		st.Settle(env, s)
	}
	return nil, nil
}

type putBlob struct {
	tenant id.Tenant
	blob   board.Blob
}

func (c putBlob) Wants() []board.Want { return nil }

func (c putBlob) Decide(t *control.Turn) (any, error) {
	t.PutBlob(c.tenant, c.blob)
	return nil, nil
}

type collectBlobs struct{ before time.Duration }

func (c collectBlobs) Wants() []board.Want { return nil }

func (c collectBlobs) Decide(t *control.Turn) (any, error) {
	t.CollectBlobs(t.Now.Add(-c.before))
	return nil, nil
}
