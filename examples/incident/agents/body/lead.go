package body

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/wire"
)

// Lead stages the incident, judges the board after each round and composes the
// end. Apart from the alert it reads the board and nothing else.
func Lead(ctx context.Context, sum *wire.Summons, s agent.Surface) error {
	if sum.State == "open" {
		dir, err := evidence.Dir()
		if err != nil {
			return err
		}
		alert, err := os.ReadFile(filepath.Join(dir, "alert.txt"))
		if err != nil {
			return err
		}
		_, err = s.UpdateContext(ctx, "incident", strings.TrimSpace(string(alert)))
		return err
	}
	board, err := evidence.ReadRound(ctx, s)
	if err != nil {
		return err
	}
	if err := board.ReadHypotheses(ctx, s); err != nil {
		return err
	}
	switch sum.State {
	case "assess":
		_, err = s.UpdateContext(ctx, "status", assess(board))
	case "resolve":
		_, err = s.UpdateContext(ctx, "resolution", resolution(board))
	case "escalate":
		_, err = s.UpdateContext(ctx, "resolution", escalation(board))
	default:
		err = fmt.Errorf("the lead has nothing to do in state %s", sum.State)
	}
	return err
}

// assess decides. A hypothesis that the board supports solves the incident. A round
// that added facts is worth another, in which others can follow them up. A round
// that added none leaves nothing to wait for: whatever is still asked for, nobody
// has it.
func assess(b evidence.Board) string {
	if _, ok := winner(b); ok {
		return "solved"
	}
	if slices.ContainsFunc(b.Facts, func(p evidence.Posted) bool { return !p.Earlier }) {
		return "continue"
	}
	return "escalate"
}

// judgement is what the board says of one hypothesis.
type judgement struct {
	facts   []evidence.Posted
	missing []string
	authors []string
	// set and seen are a configured and an observed fact with the same value.
	set, seen *evidence.Posted
}

// supported says that everything the hypothesis rests on or asks for is on the
// board, from at least two analysts, and that a configured value matches what was
// observed.
func (j judgement) supported() bool {
	return len(j.missing) == 0 && len(j.authors) > 1 && j.set != nil
}

// judge looks up every fact that a hypothesis names. It takes nobody's word for
// one being there.
func judge(b evidence.Board, h evidence.Hypothesis) judgement {
	var j judgement
	for _, topic := range slices.Concat(h.RestsOn, h.AsksFor) {
		p, ok := b.Find(topic)
		if !ok {
			j.missing = append(j.missing, topic)
			continue
		}
		j.facts = append(j.facts, p)
		j.authors = append(j.authors, p.Author)
	}
	slices.Sort(j.authors)
	j.authors = slices.Compact(j.authors)
	for i, set := range j.facts {
		for k, seen := range j.facts {
			if j.set == nil && set.Kind == evidence.Configured && seen.Kind == evidence.Observed && set.Value == seen.Value {
				j.set, j.seen = &j.facts[i], &j.facts[k]
			}
		}
	}
	return j
}

// winner is the supported hypothesis that names the most facts.
func winner(b evidence.Board) (evidence.Position, bool) {
	var supported []evidence.Position
	for _, p := range b.Hypotheses {
		if judge(b, p.Hypothesis).supported() {
			supported = append(supported, p)
		}
	}
	if len(supported) == 0 {
		return evidence.Position{}, false
	}
	return slices.MinFunc(supported, func(p, q evidence.Position) int {
		return cmp.Or(cmp.Compare(len(q.RestsOn), len(p.RestsOn)), cmp.Compare(p.Author, q.Author))
	}), true
}

func resolution(b evidence.Board) string {
	h, ok := winner(b)
	if !ok {
		return "The board no longer supports a hypothesis.\n" + escalation(b)
	}
	j := judge(b, h.Hypothesis)
	var with []string
	for _, p := range b.Hypotheses {
		if p.Cause == h.Cause {
			with = append(with, short(p.Author))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Cause: %s: %s (%s).\n", h.Cause, h.Text, evidence.Names(with))
	fmt.Fprintf(&out, "Confirmed: %s %s = %s, and %s %s = %s.\n", j.set.Kind, j.set.Topic, j.set.Value, j.seen.Kind, j.seen.Topic, j.seen.Value)
	fmt.Fprintf(&out, "Incident: %s\n", b.Incident)
	list(&out, "It rests on:", j.facts)
	list(&out, "Also on the board:", slices.DeleteFunc(slices.Clone(b.Facts), func(p evidence.Posted) bool {
		return slices.ContainsFunc(j.facts, func(q evidence.Posted) bool { return q.Raw == p.Raw })
	}))
	return strings.TrimSpace(out.String())
}

func escalation(b evidence.Board) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Escalated: the last round added no fact, and the board supports no hypothesis.\nIncident: %s\n", b.Incident)
	list(&out, "On the board:", b.Facts)
	fmt.Fprintln(&out, "Positions, and what each lacks:")
	for _, p := range b.Hypotheses {
		fmt.Fprintf(&out, "- %s: %s: %s; %s\n", short(p.Author), p.Cause, p.Text, lacks(judge(b, p.Hypothesis)))
	}
	return strings.TrimSpace(out.String())
}

func lacks(j judgement) string {
	if len(j.facts)+len(j.missing) == 0 {
		return "it names no fact"
	}
	var parts []string
	if len(j.missing) > 0 {
		parts = append(parts, "missing "+strings.Join(j.missing, ", "))
	}
	if len(j.authors) < 2 {
		parts = append(parts, "missing facts of two analysts")
	}
	if j.set == nil {
		parts = append(parts, "missing a configured value that matches an observed one")
	}
	return strings.Join(parts, ", ")
}

func list(out *strings.Builder, head string, facts []evidence.Posted) {
	if len(facts) == 0 {
		return
	}
	fmt.Fprintln(out, head)
	for _, p := range facts {
		fmt.Fprintf(out, "- %s: %s\n", short(p.Author), p.Raw)
	}
}

// short is an agent's name without the kind of principal before it.
func short(author string) string { return strings.TrimPrefix(author, "agent:") }
