package board

import (
	"encoding/json"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Verdict is what the application's admission rule said of a proposed write (B5).
// The zero Verdict accepts.
type Verdict struct {
	Rejected bool
	Reason   string
	// Judged is the board's position that the rule looked at.
	Judged id.Seq
}

// Proposal is a write as the admission rule sees it, before it is sequenced.
type Proposal struct {
	Ref     id.Ref
	Region  string
	Kind    wire.Kind
	Writer  string
	Content json.RawMessage
	// Expect is the version a premise write names.
	Expect id.Version
	// Head is the board's position when the rule was asked.
	Head id.Seq
}

// WriteLevel decides a contribution to a level. It checks, in this order: repeat,
// declaration and kind, run closed, permission, admission. The error is a
// *refusal.Refusal: UNKNOWN_BOARD, KEY_REUSED, UNKNOWN_REGION, WRONG_KIND or
// MACHINE_FIELD.
func (s *State) WriteLevel(env Env, writer string, w wire.LevelWrite, v Verdict) (wire.Result, error) {
	r, result, err := s.proposed(env, writer, proposed{region: w.Region, kind: wire.Level, key: w.Key,
		content: w.Content, blobs: w.Blobs, verdict: v})
	if err != nil || r == nil {
		return result, err
	}
	e := s.append(env, r, writer, w.Key, w.Content, w.Blobs)
	return wire.Result{Written: &wire.Written{Seq: e.Seq, At: e.At}}, nil
}

// WritePremise decides a new value of a premise. After the checks of WriteLevel it
// compares versions; a conflict changes nothing and takes no sequence number (B2).
func (s *State) WritePremise(env Env, writer string, w wire.PremiseWrite, v Verdict) (wire.Result, error) {
	r, result, err := s.proposed(env, writer, proposed{region: w.Region, kind: wire.Premise, key: w.Key,
		content: w.Content, blobs: w.Blobs, expect: w.Expect, verdict: v})
	if err != nil || r == nil {
		return result, err
	}
	if r.Version != w.Expect {
		return wire.Result{Conflict: &wire.Conflict{Expected: w.Expect, Current: r.Version}}, nil
	}
	e := s.append(env, r, writer, w.Key, w.Content, w.Blobs)
	return wire.Result{Written: &wire.Written{Seq: e.Seq, Version: e.Version, At: e.At}}, nil
}

// proposed is what both kinds of write have in common.
type proposed struct {
	region  string
	kind    wire.Kind
	key     string
	content json.RawMessage
	blobs   []id.Digest
	expect  id.Version
	verdict Verdict
}

// proposed makes the checks that both kinds of write share. A nil region with a nil
// error means that the result is the answer.
func (s *State) proposed(env Env, writer string, p proposed) (*Region, wire.Result, error) {
	if !s.found {
		return nil, wire.Result{}, s.unknown()
	}
	if p.key != "" {
		if first, ok := s.Keyed(p.key); ok {
			return s.repeat(first, p)
		}
	}
	r, err := s.declared(p.region, p.kind)
	if err != nil {
		return nil, wire.Result{}, err
	}
	if r.Owner != "" {
		return nil, wire.Result{}, refusal.New(refusal.MachineField, r.Name,
			"region %q is a context field of the %s that runs on this board", r.Name, r.Owner).
			WithFix("write it with updateContext, through a summons")
	}
	for _, b := range p.blobs {
		if !s.Blob(b) {
			return nil, wire.Result{}, refusal.New(refusal.UnknownBlob, string(b), "there is no blob %s", b).
				WithFix("put the blob before writing an entry that refers to it")
		}
	}
	if err := s.open(env); err != nil {
		return nil, wire.Result{Rejection: &wire.Rejection{Cause: refusal.RunClosed, Reason: err.Message, Outcome: s.outcome}}, nil
	}
	if a := s.agents[writer]; a != nil && p.kind == wire.Level && a.WritesTo.Set && !a.WritesTo.Has(r.Name) {
		return nil, wire.Result{Rejection: &wire.Rejection{Cause: refusal.NotPermitted,
			Reason: "agent " + quote(writer) + " may not write to level " + quote(r.Name) + "; it may write to: " + orNone(a.WritesTo.Names)}}, nil
	}
	if p.verdict.Rejected {
		return nil, wire.Result{Rejection: &wire.Rejection{Cause: refusal.Admission, Reason: p.verdict.Reason, Judged: p.verdict.Judged}}, nil
	}
	return r, wire.Result{}, nil
}

// repeat answers a key that was written before: with what the first write
// produced, or KEY_REUSED when it is sent naming another region (B4).
func (s *State) repeat(first Entry, p proposed) (*Region, wire.Result, error) {
	if first.Region != p.region {
		return nil, wire.Result{}, refusal.New(refusal.KeyReused, p.key,
			"idempotency key %q wrote region %q and is sent naming region %q", p.key, first.Region, p.region).
			WithFix("give each write a key of its own")
	}
	w := &wire.Written{Seq: first.Seq, Version: first.Version, At: first.At, Repeated: true}
	switch {
	case first.Erased != nil:
		// The salt went with the content: nothing is left to compare.
	case first.Kind != p.kind:
		w.Differs = true
	case first.Kind == wire.Premise && first.Version != p.expect+1:
		w.Differs = true
	case (first.Content == nil) != (p.content == nil):
		w.Differs = true
	case first.Content != nil && digest(first.Salt, p.content) != first.Digest:
		w.Differs = true
	}
	return nil, wire.Result{Written: w}, nil
}

// useOf says how a region of each kind is used.
var useOf = map[wire.Kind]string{
	wire.Level:   "a level is read in pages and written without a version",
	wire.Premise: "a premise is read as one value and written with the version that it expects to replace",
}

// declared returns the region if it is declared with this kind.
func (s *State) declared(name string, kind wire.Kind) (*Region, *refusal.Refusal) {
	r := s.regions[name]
	if r == nil {
		return nil, s.Unknown(name)
	}
	if r.Kind != kind {
		return nil, refusal.New(refusal.WrongKind, name, "region %q is a %s, not a %s", name, r.Kind, kind).
			WithFix("%s", useOf[r.Kind])
	}
	return r, nil
}

// Declared returns the region if the board has it with this kind, or refuses
// UNKNOWN_REGION or WRONG_KIND.
func (s *State) Declared(name string, kind wire.Kind) (*Region, error) {
	r, err := s.declared(name, kind)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Unknown refuses a region as one that the board does not have.
func (s *State) Unknown(region string) *refusal.Refusal {
	return refusal.New(refusal.UnknownRegion, region, "board %q has no region %q", s.row.Ref.Board, region).
		WithFix("it has: %s", orNone(s.regionNames()))
}

// regionNames are the names an application may know of.
func (s *State) regionNames() []string {
	var names []string
	for name := range s.regions {
		if !Hidden(name) {
			names = append(names, name)
		}
	}
	return names
}

// Hidden reports whether a region is hidden from agents.
func Hidden(region string) bool { return len(region) > 0 && region[0] == '_' }

// Put appends a write of an area that owns the region: no rule of the board is
// asked but the declaration. The area decided already.
func (s *State) Put(env Env, region, writer, key string, content json.RawMessage, blobs []id.Digest) (*Entry, error) {
	r := s.regions[region]
	if r == nil {
		return nil, refusal.New(refusal.UnknownRegion, region, "board %q has no region %q", s.row.Ref.Board, region)
	}
	return s.append(env, r, writer, key, content, blobs), nil
}

// Keyed returns the entry that a key wrote, if the transaction asked for the key or
// wrote it itself.
func (s *State) Keyed(key string) (Entry, bool) {
	if i, ok := s.wrote[key]; ok {
		return s.change.Entries[i], true
	}
	e, ok := s.keys[key]
	return e, ok
}

// Erase takes the content from entries (decision 13). Sequence number, digest and a
// tombstone stay. An entry that was erased before stays as it is. The count is of
// those newly erased.
func (s *State) Erase(env Env, by string, e wire.Erase) (int, error) {
	if !s.found {
		return 0, s.unknown()
	}
	for _, seq := range e.Seqs {
		if _, ok := s.entries[seq]; !ok {
			return 0, refusal.New(refusal.UnknownEntry, "", "board %q has no entry %d", s.row.Ref.Board, seq).
				WithFix("its entries are 1 to %d", s.row.Head)
		}
	}
	at := s.stamp(env.Now)
	count := 0
	for _, seq := range e.Seqs {
		entry := s.entries[seq]
		if entry.Erased != nil || entry.Content == nil && len(entry.Blobs) == 0 {
			continue
		}
		t := wire.Erasure{At: at, By: by, Reason: e.Reason}
		entry.Erased, entry.Content, entry.Salt, entry.Blobs = &t, nil, nil, nil
		s.entries[seq] = entry
		s.change.Erase = append(s.change.Erase, Tombstone{Seq: seq, Erasure: t})
		s.changed = true
		count++
	}
	return count, nil
}

func quote(s string) string { return `"` + s + `"` }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return refusal.List(names)
}
