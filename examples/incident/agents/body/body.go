// Package body holds what the four programs of the incident do when they are
// summoned: three analysts, each with its own files, and the lead, which has none.
//
// It knows no capture. Everything it says comes from the files, the board and the
// rules below.
package body

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
	"github.com/slate-agents/slate/wire"
)

// rule is one cause that the analysts know.
type rule struct {
	cause, text string
	// needs are the facts without which the cause is not shown. One of them makes
	// the cause worth proposing.
	needs []string
	// helps are facts that add to it.
	helps []string
}

var rules = []rule{
	{
		cause: "connection-exhaustion",
		text:  "all sessions that the server admits are taken and further ones are refused",
		needs: []string{refusedConnections, sessionPlateau, admissionLimit},
		helps: []string{lockHolder, lockWaits, holderInLog, idleTransactionLimit, connectsAccepted, networkSteady},
	},
	{
		cause: "network-path",
		text:  "the way to the server has become slow and connections break on it",
		needs: []string{connectSlow, brokenConnections},
		helps: []string{retransmits},
	},
}

// The topics that rules are about. A fact may have another topic: then no rule
// knows it.
const (
	refusedConnections   = "refused-connections"
	lockWaits            = "lock-waits"
	brokenConnections    = "broken-connections"
	holderInLog          = "lock-holder-in-log"
	sessionPlateau       = "session-plateau"
	lockHolder           = "lock-holder"
	admissionLimit       = "admission-limit"
	idleTransactionLimit = "idle-transaction-limit"
	networkSteady        = "network-steady"
	connectSlow          = "connect-slow"
	connectsAccepted     = "connects-accepted"
	retransmits          = "retransmits"
)

// look is an analyst's work: the facts that its files hold, given the board as it
// stood when the round began.
type look func(dir string, before evidence.Board) ([]evidence.Fact, error)

// analyse makes an agent body of an analyst's work. The same files and the same
// board give the same calls in the same order, so a summons that is sent again adds
// nothing.
func analyse(work look) agent.Body {
	return func(ctx context.Context, _ *wire.Summons, s agent.Surface) error {
		dir, err := evidence.Dir()
		if err != nil {
			return err
		}
		board, err := evidence.ReadRound(ctx, s)
		if err != nil {
			return err
		}
		before := board.Before()
		facts, err := work(dir, before)
		if err != nil {
			return err
		}
		var known []string
		for _, p := range before.Facts {
			known = append(known, p.Topic)
		}
		for _, f := range facts {
			if slices.Contains(known, f.Topic) {
				continue
			}
			if _, err := s.UpdateContext(ctx, "facts", f.String()); err != nil {
				return err
			}
			known = append(known, f.Topic)
		}
		_, err = s.UpdateContext(ctx, "hypotheses", Propose(known).String())
		return err
	}
}

// Propose forms the hypothesis that the known facts allow.
func Propose(known []string) evidence.Hypothesis {
	has := func(topic string) bool { return slices.Contains(known, topic) }
	for _, r := range rules {
		if !slices.ContainsFunc(r.needs, has) {
			continue
		}
		h := evidence.Hypothesis{Cause: r.cause, Text: r.text}
		for _, t := range r.needs {
			if has(t) {
				h.RestsOn = append(h.RestsOn, t)
			} else {
				h.AsksFor = append(h.AsksFor, t)
			}
		}
		for _, t := range r.helps {
			if has(t) {
				h.RestsOn = append(h.RestsOn, t)
			}
		}
		return h
	}
	if has(networkSteady) {
		return evidence.Hypothesis{Cause: "not-the-network", Text: "the network behaves as it did before", RestsOn: []string{networkSteady}}
	}
	return evidence.Hypothesis{Cause: "unexplained", Text: fmt.Sprintf("no rule explains the %d known facts", len(known))}
}

func observed(topic, value, text string, refs ...evidence.Ref) evidence.Fact {
	return evidence.Fact{Kind: evidence.Observed, Topic: topic, Value: value, Text: text, Refs: refs}
}

func configured(topic, value, text string, refs ...evidence.Ref) evidence.Fact {
	return evidence.Fact{Kind: evidence.Configured, Topic: topic, Value: value, Text: text, Refs: refs}
}

// number writes a measurement with as many digits as it deserves.
func number(n float64) string { return strconv.FormatFloat(n, 'g', 3, 64) }

// median returns the middle value; 0 when there is none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
