package sim

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// shared is a board as the model has it: how far its record goes, and its premises.
type shared struct {
	head     id.Seq
	versions [2]id.Version
	values   [2]string
}

// model is the board as one process after the other would find it.
var model = porcupine.Model{
	Init: func() any { return shared{} },
	Step: func(state, in, out any) (bool, any) {
		s, c := state.(shared), out.(call)
		k := 0
		if c.Region == "plan" {
			k = 1
		}
		switch {
		case c.Repeated:
			return c.Seq <= s.head, s
		case c.Op == "show":
			return c.Head == s.head, s
		case c.Op == "read":
			return c.Version == s.versions[k] && c.Content == s.values[k], s
		case c.Conflict:
			return c.Version == s.versions[k] && c.Version != c.Expect, s
		case c.Op == "write":
			ok := c.Expect == s.versions[k] && c.Version == c.Expect+1 && c.Seq == s.head+1
			s.versions[k], s.values[k], s.head = c.Version, c.Content, c.Seq
			return ok, s
		default:
			ok := c.Seq == s.head+1
			s.head = c.Seq
			return ok, s
		}
	},
	DescribeOperation: func(_, out any) string {
		text, _ := json.Marshal(out)
		return string(text)
	},
}

// operations are the calls that were answered, and those of the dead that the record
// tells happened: they may have happened at any time after they began.
func operations(t *testing.T, h *history, entries []board.Entry) []porcupine.Operation {
	t.Helper()
	at := map[string]board.Entry{}
	for _, e := range entries {
		if _, twice := at[string(e.Content)]; twice {
			t.Errorf("%s is there twice", e.Content)
		}
		at[string(e.Content)] = e
	}
	type key struct {
		life string
		n    int
	}
	begun := map[key]call{}
	first := map[string]int64{} // when the earliest attempt at a write began
	fresh := map[string]bool{}  // writes that an answer says were done by it
	var ops []porcupine.Operation
	add := func(c call, begun, ended int64) {
		ops = append(ops, porcupine.Operation{Input: c, Call: begun, Output: c, Return: ended})
	}
	for _, c := range h.calls {
		k := key{c.Life, c.N}
		if !c.Done {
			begun[k] = c
			if was, ok := first[c.Content]; c.Content != "" && (!ok || c.Begun < was) {
				first[c.Content] = c.Begun
			}
			continue
		}
		delete(begun, k)
		if c.Err != "" {
			t.Errorf("%s %s was answered %s", c.Writer, c.Op, c.Err)
			continue
		}
		if c.Seq != 0 {
			if e := at[c.Content]; e.Seq != c.Seq || e.Writer != c.Writer || e.Version != c.Version {
				t.Errorf("a write was answered %+v, on the record is %+v", c, e)
			}
			fresh[c.Content] = fresh[c.Content] || !c.Repeated
		}
		add(c, c.Begun, c.Ended)
	}
	lost := 0
	for _, e := range entries {
		if fresh[string(e.Content)] {
			continue
		}
		// Nobody was told that this one was written: its writer died first.
		lost++
		op := "append"
		if e.Kind == wire.Premise {
			op = "write"
		}
		began, ok := first[string(e.Content)]
		if !ok {
			t.Errorf("nobody wrote %+v", e)
		}
		add(call{Op: op, Region: e.Region, Content: string(e.Content), Expect: max(e.Version-1, 0), Version: e.Version, Seq: e.Seq}, began, math.MaxInt64)
	}
	t.Logf("%d calls were never answered, %d entries were written by the dead", len(begun), lost)
	return ops
}

// orderly says what in the history contradicts itself. What a call was answered holds
// for some heads of the record, the lowest and the highest of which are known: a call
// that began when another had ended may not be of a time before it. As every write
// has its place in the record, nothing else can be wrong with a history.
func orderly(t *testing.T, ops []porcupine.Operation, entries []board.Entry) {
	t.Helper()
	made := map[string][]board.Entry{"goal": {{}}, "plan": {{}}}
	for _, e := range entries {
		if e.Kind == wire.Premise {
			made[e.Region] = append(made[e.Region], e)
		}
	}
	span := func(c call) (lo, hi id.Seq) {
		switch {
		case c.Repeated:
			return c.Seq, math.MaxInt64
		case c.Op == "show":
			return c.Head, c.Head
		case c.Op != "read" && !c.Conflict:
			return c.Seq, c.Seq
		}
		versions := made[c.Region]
		if int(c.Version) >= len(versions) || c.Op == "read" && c.Content != string(versions[c.Version].Content) {
			t.Errorf("what was answered was never there: %+v", c)
			return 0, math.MaxInt64
		}
		hi = math.MaxInt64
		if int(c.Version)+1 < len(versions) {
			hi = versions[c.Version+1].Seq - 1
		}
		return versions[c.Version].Seq, hi
	}
	ended := slices.Clone(ops)
	slices.SortFunc(ended, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	begun := slices.Clone(ops)
	slices.SortFunc(begun, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var last call
	highest := id.Seq(0)
	for _, b := range begun {
		for len(ended) > 0 && ended[0].Return < b.Call {
			c := ended[0].Output.(call)
			if lo, _ := span(c); lo > highest {
				highest, last = lo, c
			}
			ended = ended[1:]
		}
		if _, hi := span(b.Output.(call)); hi < highest {
			t.Errorf("%+v\nwas over before this began, which is of a time before it:\n%+v", last, b.Output)
			return
		}
	}
}

// linearizable asks a checker that knows nothing of all this.
func linearizable(t *testing.T, ops []porcupine.Operation) {
	t.Helper()
	if result := porcupine.CheckOperationsTimeout(model, ops, time.Minute); result != porcupine.Ok {
		t.Errorf("the history of %d calls is not linearizable: %s", len(ops), result)
	}
}
