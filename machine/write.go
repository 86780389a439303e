package machine

import (
	"encoding/json"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// Write is one updateContext call of one agent under one claim of its summons.
type Write struct {
	Agent      string
	Entry      int
	Attempt    int
	Generation int64
	Field      string
	// Key is the map entry to write; HasKey says that the caller gave one. Without it
	// the entry is the agent's own.
	Key    string
	HasKey bool
	// Value is JSON: a scalar's value, one element of a list, one entry of a map.
	Value json.RawMessage
	// IdemKey is the idempotency key for the record: entry/agent/attempt/field/ordinal. The
	// caller composes it and recognises a repeated key before it asks.
	IdemKey string
}

// Write decides one contribution and the microsteps that follow (M2 to M7). A
// refused write changes nothing and takes no sequence number. The checks, in order:
// the run goes on and the claim is live (STALE_SUMMONS), canTransition names the
// state (CANNOT_TRANSITION), the field is declared (UNDECLARED_FIELD) and visible
// (HIDDEN_FIELD), the key is the agent's to give (FOREIGN_KEY), the value has the
// type (WRONG_TYPE, NOT_IN_ENUM) and passes validate (VALIDATE_FAILED), and the
// collection has room (LIST_FULL). All but the first carry the field list.
func (r *Run) Write(w Write, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	if no := r.closed(); no != nil {
		return Step{}, no
	}
	if !r.Live(w.Agent, w.Entry, w.Attempt, w.Generation) {
		return Step{}, r.stale(w.Agent)
	}
	return r.contribute(w, next, now)
}

// closed refuses what comes before a run opened or after it ended.
func (r *Run) closed() *refusal.Refusal {
	switch {
	case r.ended != nil:
		return refusal.New(refusal.StaleSummons, r.state.Name, "the run ended in state %q: %s", r.state.Name, r.ended.Reason).
			WithFix("stop working on it").With("reason", r.ended.Reason)
	case r.state == nil:
		return refusal.New(refusal.StaleSummons, "", "the run has not opened")
	}
	return nil
}

// stale refuses a claim that is not the agent's current one.
func (r *Run) stale(agent string) *refusal.Refusal {
	no := refusal.New(refusal.StaleSummons, agent, "agent %q holds no live summons of state %q, entry %d", clip(agent), r.state.Name, r.entry).
		WithFix("stop working on it; a newer summons is sent when the agent is needed").
		With("state", r.state.Name).With("entry", r.entry)
	return no
}

// contribute is Write without the claim: what a replay decides again.
func (r *Run) contribute(w Write, next id.Seq, now time.Time) (Step, *refusal.Refusal) {
	a := r.def.agents[w.Agent]
	if !a.may[r.state.Name] {
		return Step{}, r.def.listed(refusal.New(refusal.NoTransitionRole, w.Agent, "agent %q may not write in state %q", w.Agent, r.state.Name).
			WithFix("its canTransition has to name the state"))
	}
	f, no := r.def.readable(w.Field)
	if no != nil {
		return Step{}, no
	}
	it := item{at: now, writer: w.Agent}
	if it.key, no = f.key(w); no == nil {
		it.val, no = coerce(f, w.Value)
	}
	if no == nil {
		no = f.check(it.val)
	}
	if no != nil {
		return Step{}, r.def.listed(no)
	}
	c := &r.cells[f.index]
	if f.Type == List {
		if seq, ok := r.seen[element{w.Agent, f.index, it.val.v}]; ok {
			return Step{Repeated: &RepeatInfo{Seq: seq}}, nil
		}
	}
	if f.Collection() && len(c.items) >= f.MaxItems && (f.Type == List || !c.has(it.key)) {
		return Step{}, r.def.listed(refusal.New(refusal.ListFull, f.Name, "field %q holds %d items, its limit", f.Name, len(c.items)).
			With("maxItems", f.MaxItems))
	}
	d := r.decide(next, now)
	rec := Record{Region: f.Name, Kind: f.Kind(), Writer: w.Agent, Key: w.IdemKey,
		Content: f.content(it.key, it.val), Blobs: it.val.blobs(f.Element())}
	if !f.Collection() {
		rec.Version = c.version + 1
	}
	it.seq = d.take(rec)
	r.contributed(c, it, rec.Version)
	d.microsteps()
	return d.finish(), nil
}

// key is the map entry a write goes to: the agent's own (M3). A key may be given
// only where no requirement gathers the field, and never another agent's.
func (f *Field) key(w Write) (string, *refusal.Refusal) {
	own := ""
	if f.Type == Map {
		own = agentKey(w.Agent)
	}
	if !w.HasKey {
		return own, nil
	}
	no := func(format string, args ...any) (string, *refusal.Refusal) {
		return "", refusal.New(refusal.ForeignKey, f.Name, format, args...).WithFix("leave the key out")
	}
	switch {
	case f.Type != Map:
		return no("field %q is a %s and takes no key", f.Name, f.Type)
	case f.Gathered:
		return no("field %q is gathered: its entries are keyed by their author, here %q", f.Name, own)
	case len(w.Key) >= len("agent:") && w.Key[:len("agent:")] == "agent:" && w.Key != own:
		return no("field %q: the key %q is another author's", f.Name, clip(w.Key))
	case w.Key == "*":
		return no("field %q: the key * stands for all keys", f.Name)
	}
	if err := id.CheckName("key", w.Key); err != nil {
		return no("field %q: %v", f.Name, err)
	}
	return w.Key, nil
}
