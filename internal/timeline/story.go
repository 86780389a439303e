package timeline

import (
	"strings"
	"time"

	"github.com/slate-agents/slate/internal/draw"
)

// Story is a run as a picture: one lane an agent, in the order in which the run
// first met them.
func Story(title string, events []Event) draw.Story {
	s := draw.Story{Title: title}
	seen := map[string]bool{}
	// open are the agents at work in this state entry, and whether they wrote.
	open := map[string]bool{}
	var start time.Time
	for _, e := range events {
		if start.IsZero() {
			start = e.At
		}
		at := e.At.Sub(start)
		switch e.Kind {
		case Summoned:
			if !seen[e.Agent] {
				seen[e.Agent] = true
				s.Lanes = append(s.Lanes, e.Agent)
			}
			open[e.Agent] = false
		case Wrote:
			if _, working := open[e.Agent]; working {
				open[e.Agent] = true
			}
		case Finished, Failed:
			delete(open, e.Agent)
		case Fired, Ended:
			// The machine moves on: whoever is still at work has nothing left to write here.
			for _, agent := range s.Lanes {
				wrote, working := open[agent]
				switch {
				case working && wrote:
					s.Marks = append(s.Marks, draw.Mark{Kind: draw.Finish, Lane: agent, At: at})
				case working:
					s.Marks = append(s.Marks, draw.Mark{Kind: draw.Fail, Lane: agent, Text: "the machine moved on", At: at})
				}
			}
			clear(open)
		}
		if m, ok := mark(e); ok {
			m.At = at
			s.Marks = append(s.Marks, m)
		}
	}
	return s
}

// mark is what an event looks like. Some events have no place in a picture.
func mark(e Event) (draw.Mark, bool) {
	m := draw.Mark{Lane: e.Agent}
	switch e.Kind {
	case Entered:
		m.Kind, m.Label, m.Text = draw.Band, e.State, strings.TrimPrefix(round(e), ", ")
	case Summoned:
		m.Kind, m.Label = draw.Begin, "summoned"+attempt(e)
	case Finished:
		m.Kind = draw.Finish
		if e.Met != nil && !*e.Met {
			m.Text = "acknowledged, and what was asked for is missing"
		}
	case Failed:
		m.Kind, m.Text = draw.Fail, e.Reason
	case Wrote:
		m.Kind, m.Label, m.Text = draw.Write, e.Field, value(e.Value)
	case Cleared:
		m.Kind, m.Label = draw.Clear, e.Field+key(e)
	case Fired:
		m.Kind, m.Label = draw.Fire, e.To
		for _, g := range e.Guards {
			m.Guards = append(m.Guards, draw.Guard{Text: g.Expression, Held: g.Result})
		}
	case Ended:
		m.Kind, m.Label, m.Text = draw.End, "ended in "+e.State, ""
		if !e.Terminal {
			m.Text = e.Text + reason(e)
		}
	case Refused:
		m.Kind, m.Label = draw.Refusal, e.Field
		if e.Refusal != nil {
			m.Text = string(e.Refusal.Code)
		}
	default:
		return m, false
	}
	return m, true
}
