package board_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// bench runs one sequence of calls three ways at once: on a State that is kept, on
// one that is read anew from the store before every call, and on the model.
type bench struct {
	t     *rapid.T
	now   time.Time
	st    *memory.Store
	kept  *board.State
	model *model
	// claims were drawn so far; the same names are drawn for all three.
	claims []board.Settlement
	drawn  int
}

// asText compares values by what a person reads of them.
func asText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// call makes one decision on the kept and on the fresh state, which have to agree
// in the answer and in what they change, and stores the change.
func (b *bench) call(decide func(s *board.State, env board.Env) any) any {
	ctx := context.Background()
	var all []id.Seq
	for seq := id.Seq(1); seq <= b.kept.Head()+1; seq++ {
		all = append(all, seq)
	}
	tx, facts, err := b.st.Begin(ctx, []board.Want{{Ref: place, Keys: []string{"k1", "k2"}, Entries: all}})
	if err != nil {
		b.t.Fatal(err)
	}
	defer tx.Rollback()
	more, err := tx.More(ctx, []board.Want{{Ref: place, Keys: []string{"k1", "k2"}, Entries: all}})
	if err != nil {
		b.t.Fatal(err)
	}
	fresh := board.NewState(place, facts[0])
	b.kept.Ask(more[0])
	first := b.drawn
	env := board.Env{Now: tx.Now(), Salt: func() []byte { return make([]byte, 16) },
		NewID: func() string { b.drawn++; return fmt.Sprint("claim-", b.drawn) }}
	got := decide(b.kept, env)
	b.drawn = first
	again := decide(fresh, env)
	b.drawn = first
	if x, y := asText(got), asText(again); x != y {
		b.t.Fatalf("the kept state answers %s, a fresh one %s", x, y)
	}
	c1, changed1 := b.kept.Take()
	c2, changed2 := fresh.Take()
	b.lists(&c1)
	b.lists(&c2)
	if changed1 != changed2 || asText(c1) != asText(c2) {
		b.t.Fatalf("the kept state changes %v %s\na fresh one %v %s", changed1, asText(c1), changed2, asText(c2))
	}
	if changed1 {
		if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{c1}}); err != nil {
			b.t.Fatal(err)
		}
		if err := tx.Commit(ctx); err != nil {
			b.t.Fatal(err)
		}
	}
	if !b.kept.Found() {
		b.kept = board.NewState(place, board.Facts{}) // as the writer lets go of it
	}
	return got
}

// lists sorts what has no order of its own.
func (b *bench) lists(c *board.Change) {
	sortBy(c.Regions, func(r board.Region) string { return r.Name })
	sortBy(c.Agents, func(a board.Agent) string { return a.Name })
	sortBy(c.Outbox, func(o board.Outbox) string { return o.Agent })
	sortBy(c.DropOutbox, func(s string) string { return s })
}

// agree holds the board to the model.
func (b *bench) agree(what string, got, want any) {
	if x, y := asText(got), asText(want); x != y {
		b.t.Fatalf("%s: %s\nthe model says %s", what, x, y)
	}
	if !b.kept.Found() {
		if b.model.exists {
			b.t.Fatal("the board is gone and the model has it")
		}
		return
	}
	v := b.kept.View()
	v.Created = time.Time{}
	if v.Run != nil {
		for i := range v.Run.Agents {
			v.Run.Agents[i].Registered = time.Time{}
		}
	}
	if x, y := asText(v), asText(b.model.view()); x != y {
		b.t.Fatalf("after %s the board is\n%s\nthe model says\n%s", what, x, y)
	}
	b.found()
}

// found holds the sweep's bound: it is never later than the first thing to do.
func (b *bench) found() {
	due := b.kept.Row().Due
	early := func(what string, at time.Time) {
		if !at.IsZero() && (due.IsZero() || due.After(at)) {
			b.t.Fatalf("%s falls due at %v, a sweep comes by at %v", what, at, due)
		}
	}
	run := b.model.run
	if run == nil {
		return
	}
	if run.idle > 0 {
		early("the idle limit", run.activity.Add(run.idle))
	}
	if run.wall > 0 {
		early("the wall clock", run.opened.Add(run.wall))
	}
	for name, a := range run.agents {
		if a.flight != nil {
			early("the lease of "+name, a.flight.lease)
		} else {
			early("the notification of "+name, a.due)
		}
	}
}

func answer(err error) string { return string(refusal.CodeOf(err)) }

var declared = []wire.RegionDecl{
	{Name: "l", Kind: wire.Level}, {Name: "p", Kind: wire.Premise}, {Name: "q", Kind: wire.Premise, Window: 3 * time.Second}, {Name: "slow", Kind: wire.Level, Window: 5 * time.Second}}

func decls() *rapid.Generator[wire.AgentDecl] {
	return rapid.Custom(func(t *rapid.T) wire.AgentDecl {
		d := wire.AgentDecl{Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "agent")}
		d.WritesTo = rapid.SampledFrom([]wire.Names{{}, wire.Only(), wire.Only("l")}).Draw(t, "writesTo")
		d.SubscribesTo = rapid.SampledFrom([]wire.Names{{}, wire.Only(), wire.Only("l", "q"), wire.Only("slow", "l", "p")}).Draw(t, "subscribesTo")
		return d
	})
}

func limits() *rapid.Generator[wire.RunLimits] {
	return rapid.Custom(func(t *rapid.T) wire.RunLimits {
		return wire.RunLimits{Idle: time.Duration(rapid.SampledFrom([]int{0, 4, 20}).Draw(t, "idle")) * time.Second,
			WallClock: time.Duration(rapid.SampledFrom([]int{0, 0, 10, 60}).Draw(t, "wall")) * time.Second}
	})
}

// calls are what can happen to a board.
var calls = map[string]func(b *bench){
	"write": (*bench).write, "another write": (*bench).write, "and another": (*bench).write,
	"claim": (*bench).claim, "settle": (*bench).settle, "acknowledge": (*bench).acknowledge,
	"create": func(b *bench) {
		c := wire.CreateBoard{Regions: declared, Limits: limits().Draw(b.t, "limits"), Writer: "application"}
		if rapid.Bool().Draw(b.t, "more regions") {
			c.Regions = []wire.RegionDecl{{Name: rapid.SampledFrom([]string{"m", "n"}).Draw(b.t, "region"), Kind: wire.Premise}}
			if !b.model.exists {
				return
			}
		} else {
			d := decls().Draw(b.t, "declared")
			c.Agents = []wire.AgentDecl{d}
			c.Opening = []wire.Opening{{Region: "p", Content: json.RawMessage(`0`)}}
		}
		got := b.call(func(s *board.State, env board.Env) any { _, err := s.Create(env, c); return answer(err) })
		b.agree("create", got, b.model.create(b.now, c))
	},
	"attach": func(b *bench) {
		l := limits().Draw(b.t, "limits")
		got := b.call(func(s *board.State, env board.Env) any {
			at, err := s.Attach(env, wire.AttachBoard{Board: "b", Limits: l})
			return []any{at.Joined, answer(err)}
		})
		joined, code := b.model.attach(b.now, l)
		b.agree("attach", got, []any{joined, code})
	},
	"register": func(b *bench) {
		d := decls().Draw(b.t, "agent")
		got := b.call(func(s *board.State, env board.Env) any { _, err := s.Register(env, d); return answer(err) })
		b.agree("register", got, b.model.register(b.now, d))
	},
	"abort": func(b *bench) {
		if rapid.IntRange(0, 3).Draw(b.t, "really") > 0 {
			return
		}
		got := b.call(func(s *board.State, env board.Env) any { _, err := s.Abort(env, ""); return answer(err) })
		code := refusal.Code("")
		switch b.model.settle(b.now); {
		case !b.model.exists:
			code = refusal.UnknownBoard
		case b.model.run == nil:
			code = refusal.RunClosed
		default:
			b.model.close(b.model.stamp(b.now), wire.Aborted)
		}
		b.agree("abort", got, code)
	},
	"expire": func(b *bench) {
		var j *board.Judgement
		if rapid.Bool().Draw(b.t, "judged") {
			j = &board.Judgement{Complete: rapid.Bool().Draw(b.t, "complete"), Judged: b.model.head() - id.Seq(rapid.IntRange(0, 1).Draw(b.t, "behind"))}
		}
		b.call(func(s *board.State, env board.Env) any { _, err := s.Expire(env, j); return answer(err) })
		b.model.expire(b.now, j)
		b.agree("expire", nil, nil)
	},
	"erase": func(b *bench) {
		if b.model.head() == 0 {
			return
		}
		seq := id.Seq(rapid.IntRange(1, int(b.model.head())).Draw(b.t, "entry"))
		w := &b.model.writes[seq-1]
		want := 1
		if w.erased || w.content == "" {
			want = 0
		}
		got := b.call(func(s *board.State, env board.Env) any {
			n, err := s.Erase(env, "x", wire.Erase{Seqs: []id.Seq{seq, seq}})
			return []any{n, answer(err)}
		})
		w.erased = w.erased || want == 1
		b.agree("erase", got, []any{want, ""})
	},
	"delete": func(b *bench) {
		if rapid.IntRange(0, 5).Draw(b.t, "really") > 0 {
			return
		}
		got := b.call(func(s *board.State, env board.Env) any { return answer(s.Delete()) })
		code := refusal.Code("")
		if !b.model.exists {
			code = refusal.UnknownBoard
		}
		b.model = &model{}
		b.agree("delete", got, code)
	},
	"time": func(b *bench) {
		b.now = b.now.Add(time.Duration(rapid.SampledFrom([]int{1, 2, 3, 5, 10, 30, -1, -20}).Draw(b.t, "seconds")) * time.Second)
	},
}

func (b *bench) write() {
	t := b.t
	w := written{
		writer: rapid.SampledFrom([]string{"a", "b", "x"}).Draw(t, "writer"), region: rapid.SampledFrom([]string{"l", "p", "q", "slow", "none"}).Draw(t, "region"),
		key: rapid.SampledFrom([]string{"", "", "", "k1", "k2"}).Draw(t, "key"), content: rapid.SampledFrom([]string{`1`, `2`}).Draw(t, "content")}
	kind := wire.Level
	if w.region == "p" || w.region == "q" {
		kind = wire.Premise
	}
	if rapid.IntRange(0, 9).Draw(t, "wrong kind") == 0 {
		kind = map[wire.Kind]wire.Kind{wire.Level: wire.Premise, wire.Premise: wire.Level}[kind]
	}
	if kind == wire.Premise {
		if rapid.IntRange(0, 4).Draw(t, "clear") == 0 {
			w.content = ""
		}
		w.expect = b.model.version(w.region) - id.Version(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "behind"))
	}
	admitted := rapid.IntRange(0, 9).Draw(t, "admitted") > 0
	got := b.call(func(s *board.State, env board.Env) any {
		var res wire.Result
		var err error
		var content json.RawMessage
		if w.content != "" {
			content = json.RawMessage(w.content)
		}
		if kind == wire.Level {
			res, err = s.WriteLevel(env, w.writer, wire.LevelWrite{Region: w.region, Content: content, Key: w.key}, board.Verdict{Rejected: !admitted})
		} else {
			res, err = s.WritePremise(env, w.writer, wire.PremiseWrite{Region: w.region, Expect: w.expect, Content: content, Key: w.key}, board.Verdict{Rejected: !admitted})
		}
		switch {
		case err != nil:
			return []any{answer(err), 0}
		case res.Conflict != nil:
			if res.Conflict.Current != s.Region(w.region).Version {
				t.Fatalf("%+v", res.Conflict)
			}
			return []any{refusal.Conflict, 0}
		case res.Rejection != nil:
			return []any{res.Rejection.Cause, 0}
		case res.Written.Differs:
			return []any{"repeat that differs", res.Written.Seq}
		case res.Written.Repeated:
			return []any{"repeat", res.Written.Seq}
		}
		return []any{"written", res.Written.Seq}
	})
	word, seq := b.model.write(b.now, kind, w, admitted)
	b.agree("write", got, []any{word, seq})
}

func (b *bench) claim() {
	lease := time.Duration(rapid.IntRange(1, 8).Draw(b.t, "lease")) * time.Second
	got := b.call(func(s *board.State, env board.Env) any {
		return s.Claim(env, lease, func(*board.Agent) bool { return true })
	}).([]board.Claimed)
	want := b.model.claim(b.now, lease, func() string { b.drawn++; return fmt.Sprint("claim-", b.drawn) })
	for _, c := range want {
		b.claims = append(b.claims, board.Settlement{Agent: c.Notification.Agent, Claim: c.Claim})
	}
	b.agree("claim", got, want)
}

func (b *bench) settle() {
	if len(b.claims) == 0 {
		return
	}
	s := b.claims[len(b.claims)-1-rapid.IntRange(0, min(3, len(b.claims)-1)).Draw(b.t, "claim")]
	s.RetryIn = time.Duration(rapid.SampledFrom([]int{0, 0, 2}).Draw(b.t, "retry")) * time.Second
	b.call(func(st *board.State, env board.Env) any { st.Settle(env, s); return nil })
	b.model.settled(b.now, s)
	b.agree("settle", nil, nil)
}

func (b *bench) acknowledge() {
	who := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(b.t, "agent")
	through := id.Seq(rapid.IntRange(0, int(b.model.head())+1).Draw(b.t, "through"))
	got := b.call(func(s *board.State, env board.Env) any { return answer(s.Acknowledge(env, who, through)) })
	b.agree("acknowledge", got, b.model.acknowledge(b.now, who, through))
}

// property runs one random sequence.
func property(t *rapid.T) {
	b := &bench{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), model: &model{}}
	b.st = memory.New(memory.Options{Now: func() time.Time { return b.now }})
	b.kept = board.NewState(place, board.Facts{})
	actions := map[string]func(*rapid.T){}
	for name, call := range calls {
		actions[name] = func(t *rapid.T) { b.t = t; call(b) }
	}
	t.Repeat(actions)
}

// TestAnySequenceOfCallsComesToWhatTheModelSays also holds that a State that is
// kept decides and changes exactly what one read anew would.
func TestAnySequenceOfCallsComesToWhatTheModelSays(t *testing.T) {
	for range 15 {
		rapid.Check(t, property)
	}
}

func FuzzDecider(f *testing.F) { f.Fuzz(rapid.MakeFuzz(property)) }

// TestNoChangeIsLostInLongRuns is the rule of the notifications over sequences that
// are too long to try them all.
func TestNoChangeIsLostInLongRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 60).Draw(rt, "length") {
			m := moves[rapid.IntRange(0, len(moves)-1).Draw(rt, "move")]
			w.trace = append(w.trace, m.name)
			m.do(w)
			w.check()
		}
		w.finish()
	})
}

func sortBy[T any](all []T, name func(T) string) {
	slices.SortFunc(all, func(a, b T) int { return compare(name(a), name(b)) })
}
