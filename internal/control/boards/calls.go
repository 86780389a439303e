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

// written is what a write came to, and the notifications that were claimed with it.
type written struct {
	result  wire.Result
	claimed []board.Claimed
}

// writing is what both kinds of write have in common.
type writing struct {
	target
	writer  string
	verdict board.Verdict
	// relays says that this process begins a relay of the board with the write: what
	// the write makes due is claimed in the same transaction, and sent as soon as that
	// has committed.
	relays bool
	reached
}

// answer takes what a write made due along with its result.
func (c writing) answer(st *board.State, env board.Env, result wire.Result, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	w := written{result: result}
	if c.relays && result.Written != nil {
		if due, _ := st.Due(env.Now); due {
			w.claimed = st.Claim(env, lease, c.reaches)
		}
	}
	return w, nil
}

type writeLevel struct {
	writing
	body wire.LevelWrite
}

func (c writeLevel) Wants() []board.Want {
	return []board.Want{{Ref: c.ref, Keys: keys(c.body.Key), Blobs: c.body.Blobs}}
}

func (c writeLevel) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	result, err := st.WriteLevel(env, c.writer, c.body, c.verdict)
	return c.answer(st, env, result, err)
}

type writePremise struct {
	writing
	body wire.PremiseWrite
}

func (c writePremise) Wants() []board.Want {
	return []board.Want{{Ref: c.ref, Keys: keys(c.body.Key), Blobs: c.body.Blobs}}
}

func (c writePremise) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	result, err := st.WritePremise(env, c.writer, c.body, c.verdict)
	return c.answer(st, env, result, err)
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

// reached are the agents that this process reaches: those with a callable, by name,
// and with a transport those that have an address.
type reached struct {
	notify    map[string]board.Notifier
	addresses bool
}

func (r reached) reaches(a *board.Agent) bool {
	return r.notify[a.Name] != nil || (r.addresses && a.Address != "")
}

// claim takes what is due for the agents that this process reaches.
type claim struct {
	target
	reached
}

func (c claim) Decide(t *control.Turn) (any, error) {
	st, env := c.begin(t)
	return st.Claim(env, lease, c.reaches), nil
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
