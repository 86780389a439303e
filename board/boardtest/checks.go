package boardtest

import (
	"context"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// attempt is a write that fails the checks whose flags are set.
type attempt struct {
	premise                                                          bool
	repeat, undeclared, kind, closed, forbidden, inadmissible, stale bool
}

// try makes a board on which the write fails just those checks, and writes.
func (a attempt) try(t *testing.T, r *rig) (wire.Result, error) {
	t.Helper()
	admit := func(ctx context.Context, p board.Proposal) board.Verdict { return board.Verdict{} }
	r.calls.Admission = func(ctx context.Context, p board.Proposal) board.Verdict { return admit(ctx, p) }
	region := "facts"
	if a.premise {
		region = "window"
	}
	r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Hour}})
	decl := wire.AgentDecl{Name: "writer"}
	if a.forbidden {
		decl.WritesTo = wire.Only("ideas")
	}
	_, err := r.s.Register(r.ctx, by("writer"), name, decl)
	r.ok(err)
	r.premise("other", "window", 0, `1`)
	if a.repeat {
		if region == "facts" {
			r.wrote(r.s.WriteLevel(r.ctx, by("other"), name, wire.LevelWrite{Region: region, Content: raw(`7`), Key: "k"}))
		} else {
			r.wrote(r.s.WritePremise(r.ctx, by("other"), name, wire.PremiseWrite{Region: region, Expect: 1, Content: raw(`7`), Key: "k"}))
		}
	}
	premise := a.premise
	switch {
	case a.undeclared:
		region = "nowhere"
	case a.kind:
		premise = !premise
	}
	if a.closed {
		r.clock.move(time.Hour)
	}
	if a.inadmissible {
		admit = func(context.Context, board.Proposal) board.Verdict {
			return board.Verdict{Rejected: true, Reason: "no"}
		}
	}
	expect := id.Version(1)
	if a.stale {
		expect = 0
	}
	if premise {
		return r.s.WritePremise(r.ctx, by("writer"), name, wire.PremiseWrite{Region: region, Expect: expect, Content: raw(`7`), Key: "k"})
	}
	return r.s.WriteLevel(r.ctx, by("writer"), name, wire.LevelWrite{Region: region, Content: raw(`7`), Key: "k"})
}

// order is a sentence about which of two failed checks answers.
func order(says, answer string, attempts ...attempt) sentence {
	return sentence{says, func(t *testing.T, r *rig) {
		for _, a := range attempts {
			r.calls = board.Callables{}
			res, err := a.try(t, r)
			got := string(refusal.CodeOf(err))
			switch {
			case err != nil && got == "":
				t.Fatal(err)
			case res.Written != nil && res.Written.Repeated:
				got = "repeat"
			case res.Written != nil:
				got = "written"
			case res.Conflict != nil:
				got = "CONFLICT"
			case res.Rejection != nil:
				got = string(res.Rejection.Cause)
			}
			if got != answer {
				t.Errorf("%+v answers %s, want %s", a, got, answer)
			}
			r.ok(r.s.Delete(r.ctx, by("application"), name))
		}
	}}
}

var checks = []sentence{
	order("each check answers on its own: nothing wrong", "written", attempt{}, attempt{premise: true}),
	order("a repeat is answered before anything else is checked", "repeat",
		attempt{repeat: true}, attempt{repeat: true, kind: true}, attempt{repeat: true, closed: true},
		attempt{repeat: true, forbidden: true}, attempt{repeat: true, inadmissible: true},
		attempt{premise: true, repeat: true, kind: true}, attempt{premise: true, repeat: true, stale: true},
		attempt{premise: true, repeat: true, closed: true, forbidden: true, inadmissible: true, stale: true}),
	order("a reused key is refused before the region is looked for", "KEY_REUSED", attempt{repeat: true, undeclared: true}),
	order("an undeclared region is refused before the run is looked at, whoever writes", "UNKNOWN_REGION",
		attempt{undeclared: true}, attempt{undeclared: true, closed: true}, attempt{undeclared: true, forbidden: true},
		attempt{undeclared: true, inadmissible: true}, attempt{premise: true, undeclared: true, stale: true}),
	order("the wrong kind of region is refused before the run is looked at, whoever writes", "WRONG_KIND",
		attempt{kind: true}, attempt{premise: true, kind: true}, attempt{kind: true, closed: true}, attempt{kind: true, forbidden: true},
		attempt{kind: true, inadmissible: true}, attempt{kind: true, stale: true}),
	order("RUN_CLOSED comes before NOT_PERMITTED, ADMISSION and a conflict", "RUN_CLOSED",
		attempt{closed: true}, attempt{closed: true, forbidden: true}, attempt{closed: true, inadmissible: true},
		attempt{premise: true, closed: true, stale: true}),
	order("NOT_PERMITTED comes before ADMISSION", "NOT_PERMITTED", attempt{forbidden: true}, attempt{forbidden: true, inadmissible: true}),
	order("ADMISSION comes before a conflict", "ADMISSION", attempt{inadmissible: true}, attempt{premise: true, inadmissible: true},
		attempt{premise: true, inadmissible: true, stale: true}),
	order("a conflict comes last", "CONFLICT", attempt{premise: true, stale: true}),

	{"the admission rule is asked on every proposed write and not on opening values", func(t *testing.T, r *rig) {
		var asked []board.Proposal
		r.calls.Admission = func(_ context.Context, p board.Proposal) board.Verdict {
			asked = append(asked, p)
			return board.Verdict{Judged: 99}
		}
		r.make(wire.CreateBoard{Opening: []wire.Opening{{Region: "window", Content: raw(`0`)}}})
		equal(t, "asked about opening values", len(asked), 0)
		r.level("a", "facts", `1`)
		r.premise("b", "window", 1, `2`)
		if len(asked) != 2 {
			t.Fatalf("asked %+v", asked)
		}
		l, p := asked[0], asked[1]
		if l.Ref != ref || l.Region != "facts" || l.Kind != wire.Level || l.Writer != "a" || string(l.Content) != `1` || l.Head != 1 {
			t.Errorf("level: %+v", l)
		}
		if p.Region != "window" || p.Kind != wire.Premise || p.Writer != "b" || string(p.Content) != `2` || p.Expect != 1 || p.Head != 2 {
			t.Errorf("premise: %+v", p)
		}
		_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "nowhere", Content: raw(`1`)})
		r.refused(err, refusal.UnknownRegion)
	}},
	{"a rejection carries the rule's reason and the position it judged, and changes nothing", func(t *testing.T, r *rig) {
		reject := false
		r.calls.Admission = func(ctx context.Context, p board.Proposal) board.Verdict {
			if !reject {
				return board.Verdict{}
			}
			reject = false
			// The rule may look at the board, and even write to it: it holds no lock.
			r.level("rule", "ideas", `"seen"`)
			return board.Verdict{Rejected: true, Reason: "not now"}
		}
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Hour}})
		r.level("a", "facts", `1`)
		reject = true
		res, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`2`)})
		got := r.rejected(res, err, refusal.Admission)
		if got.Reason != "not now" || got.Judged != 1 {
			t.Fatalf("%+v", got)
		}
		equal(t, "head", r.show().Head, 2)
	}},
	{"a rejected write takes no position, wakes nobody and pushes out no limit", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.calls.Admission = func(_ context.Context, p board.Proposal) board.Verdict {
			return board.Verdict{Rejected: p.Writer == "bad"}
		}
		r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher"}, {Name: "mute", WritesTo: wire.Only()}}, Limits: wire.RunLimits{Idle: time.Hour}})
		before := r.facts()
		r.clock.move(time.Minute)
		res, err := r.s.WritePremise(r.ctx, by("bad"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`)})
		r.rejected(res, err, refusal.Admission)
		res, err = r.s.WriteLevel(r.ctx, by("mute"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		r.rejected(res, err, refusal.NotPermitted)
		r.heard(e)
		equal(t, "revision", r.facts().Row.Rev, before.Row.Rev)
	}},
	{"a rule that panics is a defect and nothing is written", func(t *testing.T, r *rig) {
		r.calls.Admission = func(context.Context, board.Proposal) board.Verdict { panic("rule") }
		r.create()
		_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		if _, refused := refusal.As(err); err == nil || refused {
			t.Fatalf("%v, want a defect", err)
		}
		equal(t, "head", r.show().Head, 0)
	}},
	{"RUN_CLOSED carries how the run ended", func(t *testing.T, r *rig) {
		r.create()
		_, err := r.s.Abort(r.ctx, by("a"), name, "enough")
		r.ok(err)
		res, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		got := r.rejected(res, err, refusal.RunClosed)
		if got.Outcome == nil || got.Outcome.Kind != wire.Aborted || got.Outcome.Reason != "enough" {
			t.Fatalf("%+v", got.Outcome)
		}
	}},
}
