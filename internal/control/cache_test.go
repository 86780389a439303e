package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

func TestAStateThatIsHeldIsNotReadAgain(t *testing.T) {
	p := newProbe()
	w := NewWriter(p)
	must(t, w, create("b"))
	p.reset()
	for range 5 {
		must(t, w, write("b"))
	}
	if p.same != 5 {
		t.Errorf("%d of 5 writes found the state as it was held", p.same)
	}
}

func TestAStateThatAnotherWriterMovedPastIsReadAgain(t *testing.T) {
	p := newProbe()
	one, other := NewWriter(p), NewWriter(p)
	must(t, one, create("b"))
	for i := range 6 {
		w := []*Writer{one, one, other}[i%3]
		if got := must(t, w, write("b")); got != id.Seq(i+1) {
			t.Fatalf("write %d has position %v", i, got)
		}
	}
	must(t, other, remove("b"))
	if _, _, err := one.Do(context.Background(), "t", write("b")); refusal.CodeOf(err) != refusal.UnknownBoard {
		t.Fatal(err)
	}
	must(t, other, create("b"))
	if got := must(t, one, write("b")); got != id.Seq(1) {
		t.Fatalf("position %v on the new board", got)
	}
}

func TestTheCacheDropsWhatWasUsedLeastRecently(t *testing.T) {
	p := newProbe()
	w := NewWriter(p)
	w.cache = newCache(3)
	names := []id.Board{"a", "b", "c", "d", "e"}
	for _, b := range names {
		must(t, w, create(b))
	}
	// held says whether a write finds the board's state held.
	held := func(b id.Board) bool {
		before := p.same
		must(t, w, write(b))
		return p.same > before
	}
	if !held("c") || held("a") || held("d") || !held("c") || !held("a") {
		t.Fatal("not the one that was used least recently was dropped")
	}
	must(t, w, remove("a"))
	must(t, w, create("a"))
	if got := must(t, w, write("a")); got != id.Seq(1) {
		t.Fatalf("position %v: the state of a deleted board was used", got)
	}
}

func TestAStateIsHandedToOneBatchAtATime(t *testing.T) {
	c := newCache(2)
	u := &unit{ref: refOf("a"), board: board.NewState(refOf("a"), board.Facts{})}
	c.put(u)
	if c.take(refOf("b")) != nil || c.take(refOf("a")) != u || c.take(refOf("a")) != nil {
		t.Fatal("taken twice, or never")
	}
	// One that was taken and not put back is gone; a later one takes its place.
	v := &unit{ref: refOf("a"), board: u.board}
	c.put(v)
	for _, b := range []id.Board{"b", "c"} {
		c.put(&unit{ref: refOf(b), board: u.board})
	}
	if c.take(refOf("a")) != nil || c.take(refOf("b")) == nil {
		t.Fatal("the oldest stayed")
	}
	c.put(u)
	if c.take(refOf("a")) != u {
		t.Fatal("put back after it was dropped, and not found")
	}
}

// counter is an area whose rows are kept in a map instead of the store.
type counter struct {
	loads, applies int
	kept           map[id.Ref]int
	fail           error
}

type count struct{ n int }

func (c *counter) Name() string { return "counter" }

func (c *counter) Load(_ context.Context, _ board.Tx, st *board.State) (any, error) {
	c.loads++
	return &count{c.kept[st.Row().Ref]}, c.fail
}

func (c *counter) Apply(_ context.Context, _ board.Tx, ref id.Ref, state any) error {
	c.applies++
	c.kept[ref] = state.(*count).n
	return nil
}

// bump writes and counts in the area.
func bump(b id.Board) call {
	return call{[]board.Want{{Ref: refOf(b), Areas: []string{"counter"}}}, func(t *Turn) (any, error) {
		n := t.Area("counter", refOf(b)).(*count)
		n.n++
		_, err := write(b).do(t)
		return n.n, err
	}}
}

func TestAnAreasStateIsHeldWithItsBoard(t *testing.T) {
	area := &counter{kept: map[id.Ref]int{}}
	p := newProbe()
	w, other := NewWriter(p, area), NewWriter(p, area)
	must(t, w, create("b"))
	for i := range 3 {
		if got := must(t, w, bump("b")); got != i+1 {
			t.Fatalf("count %v", got)
		}
	}
	if area.loads != 1 || area.applies != 3 {
		t.Fatalf("%d loads, %d applies", area.loads, area.applies)
	}
	if got := must(t, other, bump("b")); got != 4 {
		t.Fatalf("the other writer counts %v", got)
	}
	if got := must(t, w, bump("b")); got != 5 || area.loads != 3 {
		t.Fatalf("count %v after %d loads", got, area.loads)
	}
	// A batch that fails leaves nothing of it in what is held.
	p.onCommit = func(int) (error, bool) { return errors.New("disk"), false }
	_, _, _ = w.Do(context.Background(), "t", bump("b"))
	p.onCommit = nil
	area.kept[refOf("b")] = 5 // the transaction would have taken it back
	if got := must(t, w, bump("b")); got != 6 {
		t.Fatalf("count %v after a failed commit", got)
	}
}

func TestAnAreaThatFailsOrIsMissingIsADefect(t *testing.T) {
	area := &counter{kept: map[id.Ref]int{}}
	p := newProbe()
	w := NewWriter(p, area)
	must(t, w, create("b"))
	area.fail = errors.New("unreadable")
	if _, _, err := w.Do(context.Background(), "t", bump("b")); !errors.Is(err, area.fail) {
		t.Fatal(err)
	}
	area.fail = nil
	must(t, w, bump("b"))
	_, _, err := NewWriter(p).Do(context.Background(), "t", bump("b"))
	if err == nil || !strings.Contains(err.Error(), `"counter"`) {
		t.Fatal(err)
	}
}

// TestABoardMadeAnewInABatchHasNothingOfTheOldOnesAreas: an area's state was loaded
// before the batch and is the old board's.
func TestABoardMadeAnewInABatchHasNothingOfTheOldOnesAreas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		area := &counter{kept: map[id.Ref]int{}}
		p := newProbe()
		w := NewWriter(p, area)
		must(t, w, create("b"))
		for range 3 {
			must(t, w, bump("b"))
		}
		area.kept[refOf("b")] = 0 // what deleting the board does to the area's rows
		var got *outcome
		behind(t, p, w, func(c *crowd) {
			for _, next := range []call{remove("b"), create("b")} {
				c.join(context.Background(), "t", next)
				synctest.Wait()
			}
			got = c.join(context.Background(), "t", bump("b"))
		})
		if fmt.Sprint(got.answer, got.err) != "1 <nil>" {
			t.Fatalf("%v %v", got.answer, got.err)
		}
	})
}

func TestDeleteCreateDeleteInOneBatchDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		must(t, w, write("b"))
		behind(t, p, w, func(c *crowd) {
			for _, next := range []call{remove("b"), create("b"), write("b"), remove("b")} {
				c.join(context.Background(), "t", next)
				synctest.Wait()
			}
		})
		f, err := p.Look(context.Background(), board.Want{Ref: refOf("b")})
		if err != nil || f.Found || len(p.begins) != 2 {
			t.Fatalf("%+v %v after %d transactions", f, err, len(p.begins)-1)
		}
		must(t, w, create("b"))
		if got := must(t, w, write("b")); got != id.Seq(1) {
			t.Fatalf("position %v", got)
		}
	})
}
