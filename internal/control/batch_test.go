package control

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// behind runs the calls of join as one batch: they queue while another batch is
// held up in Begin. It returns after all were answered.
func behind(t *testing.T, p *probe, w *Writer, join func(c *crowd)) {
	t.Helper()
	hold := make(chan struct{})
	before := p.onBegin
	p.onBegin = func(n int) error {
		if n == 1 {
			<-hold
		}
		return nil
	}
	p.reset()
	c := &crowd{w: w}
	c.join(context.Background(), "t", call{nil, func(*Turn) (any, error) { return nil, nil }})
	synctest.Wait()
	join(c)
	synctest.Wait()
	p.onBegin = before
	close(hold)
	c.all.Wait()
}

func TestALoneCallerIsServedOnItsOwnGoroutine(t *testing.T) {
	w := NewWriter(newProbe())
	must(t, w, create("b"))
	before, mine := runtime.NumGoroutine(), goroutine()
	must(t, w, call{[]board.Want{{Ref: refOf("b")}}, func(*Turn) (any, error) {
		if got := goroutine(); got != mine {
			t.Errorf("decided on %s, called on %s", got, mine)
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		return nil, nil
	}})
}

func TestConcurrentCallersShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("a"))
		must(t, w, create("b"))
		var got []*outcome
		behind(t, p, w, func(c *crowd) {
			for i := range 20 {
				got = append(got, c.join(context.Background(), "t", write(id.Board([]string{"b", "a"}[i%2]))))
				synctest.Wait()
			}
		})
		if len(p.begins) != 2 || p.commits != 1 {
			t.Fatalf("%d transactions and %d commits for 20 writes", len(p.begins)-1, p.commits)
		}
		if wants := p.begins[1]; len(wants) != 2 || wants[0].Ref.Board != "a" || wants[1].Ref.Board != "b" {
			t.Errorf("wants %+v", wants)
		}
		// In order of arrival, each seeing those before it.
		for i, o := range got {
			if o.err != nil || o.answer != id.Seq(i/2+1) {
				t.Errorf("write %d: %v %v", i, o.answer, o.err)
			}
			if o.receipt.Head != o.answer {
				t.Errorf("write %d: receipt %+v", i, o.receipt)
			}
		}
	})
}

func TestABatchHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		behind(t, p, w, func(c *crowd) {
			for range board.MaxCalls + 5 {
				c.join(context.Background(), "t", write("b"))
			}
		})
		if len(p.begins) != 3 || head(t, p, "b") != board.MaxCalls+5 {
			t.Fatalf("%d transactions, head %d", len(p.begins)-1, head(t, p, "b"))
		}
	})
}

func TestNothingIsAnsweredBeforeTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		p.reset()
		commit, begin := make(chan struct{}), make(chan struct{})
		p.onBegin = func(n int) error {
			if n == 1 {
				<-begin
			}
			return nil
		}
		p.onCommit = func(n int) (error, bool) { <-commit; return nil, false }
		c := &crowd{w: w}
		ctx := context.Background()
		c.join(ctx, "t", call{nil, func(*Turn) (any, error) { return nil, nil }})
		synctest.Wait()
		c.join(ctx, "t", write("b"))
		// A refusal and a read rest on their batch-mate's write too.
		c.join(ctx, "t", call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) { return t.Board(refOf("b")).Head(), nil }})
		refused := c.join(ctx, "t", call{[]board.Want{{Ref: refOf("b")}}, func(*Turn) (any, error) { return nil, refusal.New(refusal.Conflict, "", "no") }})
		synctest.Wait()
		close(begin)
		synctest.Wait()
		if n := c.answered(); n != 1 {
			t.Fatalf("%d callers answered before the commit", n-1)
		}
		close(commit)
		c.all.Wait()
		if refusal.CodeOf(refused.err) != refusal.Conflict {
			t.Errorf("refused: %v", refused.err)
		}
	})
}

func TestAFailedCommitTellsNobodyOfSuccess(t *testing.T) {
	disk := errors.New("disk")
	for what, fail := range map[string]func(p *probe){
		"begin":  func(p *probe) { p.onBegin = func(int) error { return disk } },
		"apply":  func(p *probe) { p.onApply = func() error { return disk } },
		"commit": func(p *probe) { p.onCommit = func(int) (error, bool) { return disk, false } },
	} {
		t.Run(what, func(t *testing.T) {
			p := newProbe()
			w := NewWriter(p)
			must(t, w, create("b"))
			fail(p)
			answer, receipt, err := w.Do(context.Background(), "t", write("b"))
			if !errors.Is(err, disk) || answer != nil || receipt != (Receipt{}) {
				t.Fatalf("%v %+v %v", answer, receipt, err)
			}
			p.onBegin, p.onApply, p.onCommit = nil, nil, nil
			// What the failed call did to a state that was held is not kept either.
			if got := must(t, w, write("b")); got != id.Seq(1) {
				t.Fatalf("the next write has position %v", got)
			}
		})
	}
}

func TestAFailedBatchRunsAgainOneByOne(t *testing.T) {
	for _, failures := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			p := newProbe()
			w := NewWriter(p)
			must(t, w, create("b"))
			disk := errors.New("disk")
			p.onCommit = func(n int) (error, bool) {
				if n <= failures {
					return disk, false
				}
				return nil, false
			}
			var got []*outcome
			behind(t, p, w, func(c *crowd) {
				for range 4 {
					got = append(got, c.join(context.Background(), "t", write("b")))
					synctest.Wait()
				}
			})
			next, failed := id.Seq(1), 0
			for i, o := range got {
				switch {
				case errors.Is(o.err, disk):
					failed++
				case o.err != nil || o.answer != next:
					t.Errorf("write %d: %v %v, want %d", i, o.answer, o.err, next)
				default:
					next++
				}
			}
			if failed != failures-1 || head(t, p, "b") != id.Seq(4-failed) {
				t.Errorf("%d commits failed: %d callers failed, head %d", failures, failed, head(t, p, "b"))
			}
		})
	}
}

func TestAPanicIsADefectOfItsCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		var good []*outcome
		var bad, wrong *outcome
		behind(t, p, w, func(c *crowd) {
			ctx := context.Background()
			good = append(good, c.join(ctx, "t", write("b")))
			synctest.Wait()
			bad = c.join(ctx, "t", call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) {
				_, _ = write("b").do(t)
				panic("decider")
			}})
			synctest.Wait()
			wrong = c.join(ctx, "t", call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) {
				_, _ = write("b").do(t)
				return "half done", errors.New("a defect")
			}})
			synctest.Wait()
			good = append(good, c.join(ctx, "t", write("b")))
		})
		for i, o := range good {
			if o.err != nil || o.answer != id.Seq(i+1) {
				t.Errorf("batch-mate %d: %v %v", i, o.answer, o.err)
			}
		}
		for _, o := range []*outcome{bad, wrong} {
			if _, refused := refusal.As(o.err); o.err == nil || refused || o.answer != nil || o.receipt != (Receipt{}) {
				t.Errorf("a defect was answered %+v", o)
			}
		}
		if head(t, p, "b") != 2 {
			t.Errorf("head %d: a defect wrote", head(t, p, "b"))
		}
	})
}

func TestAPanicInTheStoreLeavesAWriterThatWorks(t *testing.T) {
	p := newProbe()
	w := NewWriter(p)
	must(t, w, create("b"))
	p.onApply = func() error { panic("store") }
	if _, _, err := w.Do(context.Background(), "t", write("b")); err == nil {
		t.Fatal("no error")
	}
	p.onApply = nil
	if got := must(t, w, write("b")); got != id.Seq(1) {
		t.Fatalf("position %v", got)
	}
}

func TestCommitUnknownIsAnsweredToTheWholeBatchAndNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		p.onCommit = func(int) (error, bool) { return refusal.New(refusal.CommitUnknown, "", "lost"), true }
		var got []*outcome
		behind(t, p, w, func(c *crowd) {
			for range 3 {
				got = append(got, c.join(context.Background(), "t", write("b")))
			}
		})
		for _, o := range got {
			if refusal.CodeOf(o.err) != refusal.CommitUnknown || o.answer != nil || o.receipt != (Receipt{}) {
				t.Errorf("answered %+v", o)
			}
		}
		if len(p.begins) != 2 || head(t, p, "b") != 3 {
			t.Errorf("%d transactions, head %d", len(p.begins)-1, head(t, p, "b"))
		}
		// The state that was held does not know of the commit either.
		p.onCommit = nil
		if got := must(t, w, write("b")); got != id.Seq(4) {
			t.Errorf("the next write has position %v", got)
		}
	})
}

func TestARefusalCommitsNothing(t *testing.T) {
	p := newProbe()
	w := NewWriter(p)
	must(t, w, create("b"))
	p.reset()
	for range 3 {
		_, _, err := w.Do(context.Background(), "t", create("b"))
		if refusal.CodeOf(err) != refusal.RegionExists {
			t.Fatal(err)
		}
		_, _, err = w.Do(context.Background(), "t", write("absent"))
		if refusal.CodeOf(err) != refusal.UnknownBoard {
			t.Fatal(err)
		}
	}
	if p.commits != 0 || len(p.begins) != 6 {
		t.Fatalf("%d commits in %d transactions", p.commits, len(p.begins))
	}
}

func TestAReceiptTellsOfOpeningAndClosing(t *testing.T) {
	w := NewWriter(newProbe())
	ctx := context.Background()
	_, r, err := w.Do(ctx, "t", create("b"))
	if err != nil || !r.Opened || r.Closed != nil || r.Ref != refOf("b") {
		t.Fatalf("%+v %v", r, err)
	}
	_, r, _ = w.Do(ctx, "t", write("b"))
	if r.Opened || r.Closed != nil || r.Head != 1 {
		t.Fatalf("%+v", r)
	}
	abort := call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) { return t.Board(refOf("b")).Abort(t.Env, "x") }}
	_, r, _ = w.Do(ctx, "t", abort)
	if r.Closed == nil || r.Closed.Kind != wire.Aborted {
		t.Fatalf("%+v", r)
	}
	_, r, err = w.Do(ctx, "t", abort)
	if err == nil || r.Closed != nil {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestAnAnswerToSomebodyElsesClosingDoesNotTellOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := NewWriter(p)
		must(t, w, create("b"))
		var closing, after *outcome
		behind(t, p, w, func(c *crowd) {
			closing = c.join(context.Background(), "t", call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) { return t.Board(refOf("b")).Abort(t.Env, "x") }})
			synctest.Wait()
			after = c.join(context.Background(), "t", call{[]board.Want{{Ref: refOf("b")}}, func(t *Turn) (any, error) { return fmt.Sprint(t.Board(refOf("b")).Outcome().Kind), nil }})
		})
		if closing.receipt.Closed == nil || after.receipt.Closed != nil || after.answer != "aborted" {
			t.Fatalf("%+v, %+v", closing, after)
		}
	})
}
