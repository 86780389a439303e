package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
)

// Posted is a fact on the board.
type Posted struct {
	Fact
	Raw    string
	Author string
	// Earlier says that it stood there when this round began.
	Earlier bool
	seq     id.Seq
}

// Position is a hypothesis on the board.
type Position struct {
	Hypothesis
	Raw    string
	Author string
}

// Board is what these programs read of a board.
type Board struct {
	Incident string
	// Onset is the first instant that the incident names; zero when it names none.
	Onset      time.Time
	Facts      []Posted
	Hypotheses []Position
	began      id.Seq
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// Onset returns the first instant that a text names.
func Onset(text string) time.Time {
	t, err := time.Parse(time.RFC3339, instant.FindString(text))
	if err != nil {
		return time.Time{}
	}
	return t
}

// ReadFacts reads the incident and the facts.
func ReadFacts(ctx context.Context, s agent.Surface) (Board, error) {
	var b Board
	incident, err := s.ReadContext(ctx, "incident")
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(incident.Value, &b.Incident); err != nil {
		return b, fmt.Errorf("incident: %w", err)
	}
	b.Onset = Onset(b.Incident)
	for _, e := range incident.Entries {
		b.began = max(b.began, e.Seq)
	}
	facts, err := s.ReadContext(ctx, "facts")
	if err != nil {
		return b, err
	}
	for _, e := range facts.Entries {
		p := Posted{Author: e.Writer, seq: e.Seq}
		if err := json.Unmarshal(e.Value, &p.Raw); err != nil {
			return b, fmt.Errorf("facts: %w", err)
		}
		p.Fact, _ = ParseFact(p.Raw)
		b.Facts = append(b.Facts, p)
	}
	return b, nil
}

// ReadRound reads the same and marks what stood there when the round began.
//
// Agents of one round work at the same time, so what one of them sees of the
// others' work depends on chance. What was on the board before the round does not.
// A round begins with the last write of the status, which is the one that cleared
// it, and the first round with the incident.
func ReadRound(ctx context.Context, s agent.Surface) (Board, error) {
	b, err := ReadFacts(ctx, s)
	if err != nil {
		return b, err
	}
	status, err := s.Premise(ctx, "status")
	if err != nil {
		return b, err
	}
	b.began = max(b.began, status.Seq)
	for i := range b.Facts {
		b.Facts[i].Earlier = b.Facts[i].seq < b.began
	}
	return b, nil
}

// ReadHypotheses adds the round's hypotheses.
func (b *Board) ReadHypotheses(ctx context.Context, s agent.Surface) error {
	field, err := s.ReadContext(ctx, "hypotheses")
	if err != nil {
		return err
	}
	for _, e := range field.Entries {
		p := Position{Author: e.Writer}
		if err := json.Unmarshal(e.Value, &p.Raw); err != nil {
			return fmt.Errorf("hypotheses: %w", err)
		}
		p.Hypothesis, _ = ParseHypothesis(p.Raw)
		b.Hypotheses = append(b.Hypotheses, p)
	}
	return nil
}

// Find returns the first fact of a topic.
func (b Board) Find(topic string) (Posted, bool) {
	for _, p := range b.Facts {
		if p.Topic == topic {
			return p, true
		}
	}
	return Posted{}, false
}

// Before is the board as it stood when the round began.
func (b Board) Before() Board {
	var facts []Posted
	for _, p := range b.Facts {
		if p.Earlier {
			facts = append(facts, p)
		}
	}
	b.Facts = facts
	return b
}
