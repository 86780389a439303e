// Package body holds what the programs of the triage do when they are summoned: a
// reader that says what came in shows, and two specialists of whom the machine asks
// the one that the facts concern, or none.
//
// They find facts as the incident's analysts do. None of them decides who is asked.
package body

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slate-agents/slate/agent"
	incident "github.com/slate-agents/slate/examples/incident/agents/body"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/wire"
)

// Reader reads the log and the network samples of what came in and stages the
// incident after the facts.
func Reader(ctx context.Context, _ *wire.Summons, s agent.Surface) error {
	dir, err := evidence.Dir()
	if err != nil {
		return err
	}
	alert, err := os.ReadFile(filepath.Join(dir, "alert.txt"))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(alert))
	empty := evidence.Board{Incident: text, Onset: evidence.Onset(text)}
	logged, err := incident.InLog(dir, empty)
	if err != nil {
		return err
	}
	network, err := incident.InNetwork(dir, empty)
	if err != nil {
		return err
	}
	for _, f := range slices.Concat(logged, network) {
		if _, err := s.UpdateContext(ctx, "facts", f.String()); err != nil {
			return err
		}
	}
	_, err = s.UpdateContext(ctx, "incident", text)
	return err
}

// DBSpecialist adds what the activity and the settings say and reports.
func DBSpecialist(ctx context.Context, _ *wire.Summons, s agent.Surface) error {
	dir, err := evidence.Dir()
	if err != nil {
		return err
	}
	board, err := evidence.ReadFacts(ctx, s)
	if err != nil {
		return err
	}
	found, err := incident.InDatabase(dir, board)
	if err != nil {
		return err
	}
	known := topics(board)
	for _, f := range found {
		if _, err := s.UpdateContext(ctx, "facts", f.String()); err != nil {
			return err
		}
		if !slices.Contains(known, f.Topic) {
			known = append(known, f.Topic)
		}
	}
	_, err = s.UpdateContext(ctx, "report", incident.Propose(known).String())
	return err
}

// NetSpecialist reads the board alone: the reader has reported the samples.
func NetSpecialist(ctx context.Context, _ *wire.Summons, s agent.Surface) error {
	board, err := evidence.ReadFacts(ctx, s)
	if err != nil {
		return err
	}
	_, err = s.UpdateContext(ctx, "report", networkReport(board))
	return err
}

func networkReport(b evidence.Board) string {
	failed, none := b.Find("connect-failures")
	_, slow := b.Find("connect-slow")
	_, lossy := b.Find("retransmits")
	switch {
	case none && strings.Contains(failed.Text, "refused") && !slow && !lossy:
		return fmt.Sprintf("nothing-listens: the host answers and refuses, no segment is lost on the way: the port has no listener; rests on %s", failed.Raw)
	case slow || lossy:
		return incident.Propose(topics(b)).String()
	default:
		return "unexplained: the samples show no more than the facts say"
	}
}

func topics(b evidence.Board) []string {
	var all []string
	for _, p := range b.Facts {
		all = append(all, p.Topic)
	}
	return all
}
