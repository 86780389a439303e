package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Report is what Verify found.
type Report struct {
	// Entries counts the entries compared, Contributions those that agents wrote and
	// Guards the guards evaluated again.
	Entries, Contributions, Guards int
	// Through is the last position that was verified.
	Through id.Seq
	// Erased is the first contribution whose content is gone: nothing from there on
	// can be decided again. 0 when there is none.
	Erased id.Seq
	// Run stands at Through.
	Run *Run
}

// Replay folds the record up to and including position until (0 for all of it) and
// returns the run as it stood there (M12).
func Replay(defs func(id.Digest) (*Definition, error), entries iter.Seq2[wire.Entry, error], until id.Seq) (*Run, error) {
	var r *Run
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if until > 0 && e.Seq > until {
			break
		}
		if r == nil {
			if r, err = begin(defs, e); err != nil {
				return nil, err
			}
		}
		if err := r.Fold(e); err != nil {
			return nil, err
		}
	}
	if r == nil {
		return nil, refusal.New(refusal.NoMachine, "", "the record is empty: no run opened")
	}
	return r, nil
}

// begin makes the run that a record's first entry opens.
func begin(defs func(id.Digest) (*Definition, error), e wire.Entry) (*Run, error) {
	if e.Region != JournalRegion {
		return nil, altered(e, "the record begins in region %q, not with the journal's opened", e.Region)
	}
	ev, err := ParseEvent(e.Content)
	if err != nil || ev.Type != EventOpened {
		return nil, altered(e, "the record does not begin with opened")
	}
	def, err := defs(ev.Digest)
	if err != nil {
		return nil, fmt.Errorf("machine: definition %s: %w", ev.Digest, err)
	}
	r := New(def)
	r.UseDefinitions(defs)
	return r, nil
}

// Verify replays a record from its inputs alone: the agents' contributions and what
// the journal says came from outside (opened, sent, settled, migrated). It evaluates
// every guard again, decides every derived entry again and compares each with the
// record. The first difference (an altered guard result, an entry missing, added,
// moved or under another writer) is refused ALTERED_RECORD with both values.
func Verify(defs func(id.Digest) (*Definition, error), entries iter.Seq2[wire.Entry, error]) (*Report, error) {
	rep := &Report{}
	var expected []Record // what the last input still has to produce
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if rep.Run == nil {
			if rep.Run, err = begin(defs, e); err != nil {
				return nil, err
			}
		}
		if len(expected) == 0 {
			if e.Erased != nil {
				rep.Erased = e.Seq
				return rep, nil
			}
			if expected, err = rep.again(e); err != nil {
				return nil, err
			}
		}
		if err := same(expected[0], e); err != nil {
			return nil, err
		}
		expected = expected[1:]
		rep.Entries++
		rep.Through = e.Seq
	}
	if rep.Run == nil {
		return nil, refusal.New(refusal.NoMachine, "", "the record is empty: no run opened")
	}
	if len(expected) > 0 {
		want := expected[0]
		return nil, refusal.New(refusal.AlteredRecord, want.Region, "entry %d is missing: expected %s", want.Seq, describe(want.Entry())).
			With("seq", int64(want.Seq)).With("expected", describe(want.Entry()))
	}
	return rep, nil
}

// again decides the input e once more and returns the records that follow from it,
// e itself first.
func (rep *Report) again(e wire.Entry) ([]Record, error) {
	r := rep.Run
	if e.Seq <= 0 || r.position > 0 && e.Seq != r.position+1 {
		return nil, altered(e, "follows position %d", r.position)
	}
	if r.ended != nil {
		return nil, altered(e, "the run had ended (%s)", r.ended.Reason)
	}
	var step Step
	var err error
	if e.Region == JournalRegion {
		step, err = r.inputAgain(e)
	} else {
		rep.Contributions++
		step, err = r.writeAgain(e)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range step.Fired {
		rep.Guards += len(f.Guards)
	}
	if step.Ended != nil {
		rep.Guards += len(step.Ended.Guards)
	}
	if len(step.Records) == 0 {
		return nil, altered(e, "the contribution repeats another and adds nothing")
	}
	return step.Records, nil
}

// inputAgain decides a journal input again.
func (r *Run) inputAgain(e wire.Entry) (Step, error) {
	ev, err := ParseEvent(e.Content)
	if err != nil {
		return Step{}, altered(e, "%v", err)
	}
	if ev.Type == EventOpened && r.state == nil {
		return r.Open(e.Seq, e.At), nil
	}
	if r.state == nil {
		return Step{}, altered(e, "%s before the run opened", ev.Type)
	}
	var row *Summons
	if a, ok := r.def.agents[ev.Agent]; ok && r.rows[a.index].Entry == r.entry {
		row = &r.rows[a.index]
	}
	switch {
	case ev.Type == EventSent || ev.Type == EventEnded && ev.Agent != "":
		if row == nil || row.Status != Pending {
			return Step{}, altered(e, "%s: agent %q had no summons to send", ev.Type, ev.Agent)
		}
		return r.send(r.def.agents[ev.Agent], e.Seq, e.At), nil
	case ev.Type == EventSettled:
		if row == nil || row.Status != Sent || ev.Acknowledged == nil {
			return Step{}, altered(e, "settled: agent %q held no summons", ev.Agent)
		}
		return r.settle(row, Settlement{Agent: ev.Agent, Acknowledged: *ev.Acknowledged, Failure: ev.Failure}, e.Seq, e.At), nil
	case ev.Type == EventMigrated:
		to, err := r.defs(ev.Digest)
		if err != nil {
			return Step{}, fmt.Errorf("machine: definition %s: %w", ev.Digest, err)
		}
		step, no := r.Migrate(to, e.Seq, e.At)
		if no != nil {
			return Step{}, altered(e, "migrated: %s", no.Message)
		}
		return step, nil
	}
	return Step{}, altered(e, "%s: nothing on the record led to it", ev.Type)
}

// writeAgain decides an agent's contribution again.
func (r *Run) writeAgain(e wire.Entry) (Step, error) {
	a, ok := r.def.agents[e.Writer]
	if !ok || r.state == nil {
		return Step{}, altered(e, "in %q by %q: nothing on the record led to it", e.Region, e.Writer)
	}
	if s := &r.rows[a.index]; s.Status != Sent || s.Entry != r.entry {
		return Step{}, altered(e, "agent %q wrote %q without a summons of state entry %d", e.Writer, e.Region, r.entry)
	}
	w := Write{Agent: e.Writer, Field: e.Region, Value: e.Content, IdemKey: e.Key}
	if f, ok := r.def.fields[e.Region]; ok && f.Type == Map {
		var m mapContent
		if err := json.Unmarshal(e.Content, &m); err != nil || m.Key == nil {
			return Step{}, altered(e, "content of a map is not an entry")
		}
		w.Value, w.Key, w.HasKey = m.Value, *m.Key, *m.Key != agentKey(e.Writer)
	}
	step, no := r.contribute(w, e.Seq, e.At)
	if no != nil {
		return Step{}, altered(e, "the contribution would be refused: %v", no)
	}
	return step, nil
}

// same compares a decided record with the recorded entry.
func same(want Record, e wire.Entry) error {
	if want.Seq == e.Seq && want.Region == e.Region && want.Kind == e.Kind && want.Version == e.Version &&
		want.Writer == e.Writer && want.Key == e.Key && bytes.Equal(want.Content, e.Content) && e.Erased == nil && !e.Hidden {
		return nil
	}
	return refusal.New(refusal.AlteredRecord, e.Region, "entry %d: the record has %s, a replay has %s",
		e.Seq, describe(e), describe(want.Entry())).
		With("seq", int64(e.Seq)).With("recorded", describe(e)).With("expected", describe(want.Entry()))
}

// describe is an entry on one line.
func describe(e wire.Entry) string {
	content := "no content"
	if e.Content != nil {
		content = string(e.Content)
	}
	version := ""
	if e.Kind == wire.Premise {
		version = fmt.Sprintf(" version %d", e.Version)
	}
	key := ""
	if e.Key != "" {
		key = fmt.Sprintf(" key %q", e.Key)
	}
	return fmt.Sprintf("%s %q%s by %q%s: %s", e.Kind, e.Region, version, e.Writer, key, content)
}
