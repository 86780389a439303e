package body

import (
	"fmt"
	"strconv"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
)

// NetExpert reads network.csv.
var NetExpert agent.Body = analyse(InNetwork)

// slower is from which ratio of medians on connecting counts as slow.
const slower = 3

// few is how many segments may be sent again without it meaning anything.
const few = 10

// InNetwork finds what the network samples say, and whether connects got through
// while the board has the server refusing them.
func InNetwork(dir string, before evidence.Board) ([]evidence.Fact, error) {
	rows, err := evidence.ReadTable(dir, "network.csv")
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var calm, since []float64
	var resentCalm, resentSince float64
	var resent, failed []evidence.Row
	var onset evidence.Row
	for _, r := range rows {
		later := !r.At.Before(before.Onset)
		if later && onset.Line == 0 {
			onset = r
		}
		if ms, ok := r.Number("connect_ms"); ok && later {
			since = append(since, ms)
		} else if ok {
			calm = append(calm, ms)
		}
		if n, _ := r.Number("retransmits"); n > 0 && later {
			resentSince += n
			resent = append(resent, r)
		} else if n > 0 {
			resentCalm += n
		}
		if later && r.Get("error") != "" {
			failed = append(failed, r)
		}
	}

	// The counter is the host's: what was sent again before the onset is its noise.
	noisy := resentSince >= few && resentSince*float64(len(calm)) > slower*resentCalm*float64(len(since)+len(failed))

	var facts []evidence.Fact
	last := rows[len(rows)-1].Ref
	if len(calm) > 0 && len(since) > 0 {
		was, is := median(calm), median(since)
		text := fmt.Sprintf("a connect took a median of %s ms before the onset and %s ms since, in %d and %d samples", number(was), number(is), len(calm), len(since))
		switch {
		case is > slower*was:
			facts = append(facts, observed(connectSlow, number(is/was), text, onset.Ref, last))
		case len(failed) == 0 && !noisy:
			facts = append(facts, observed(networkSteady, number(is/was), fmt.Sprintf("%s; no connect failed; %s segments were sent again before it and %s since", text, number(resentCalm), number(resentSince)), onset.Ref, last))
		default:
			facts = append(facts, observed("connect-time", number(is/was), text, onset.Ref, last))
		}
	}
	if len(failed) > 0 {
		facts = append(facts, observed("connect-failures", strconv.Itoa(len(failed)),
			fmt.Sprintf("%d of %d connects since the onset failed, the first: %q", len(failed), len(failed)+len(since), failed[0].Get("error")),
			failed[0].Ref, failed[len(failed)-1].Ref))
	}
	if noisy {
		facts = append(facts, observed(retransmits, number(resentSince),
			fmt.Sprintf("%s segments sent again since the onset, in %d samples; %s before it", number(resentSince), len(resent), number(resentCalm)), resent[0].Ref, resent[len(resent)-1].Ref))
	}

	// What the log's side of the board points at.
	if p, ok := before.Find(refusedConnections); ok {
		facts = append(facts, accepted(rows, p.Fact)...)
	}
	return facts, nil
}

// accepted says whether the network let connects through while the server refused
// sessions.
func accepted(rows []evidence.Row, refused evidence.Fact) []evidence.Fact {
	from, to := refused.Refs[0].At, refused.Refs[len(refused.Refs)-1].At
	var through, all []evidence.Row
	for _, r := range rows {
		if r.At.Before(from) || r.At.After(to) {
			continue
		}
		all = append(all, r)
		if r.Get("error") == "" {
			through = append(through, r)
		}
	}
	if len(through) == 0 {
		return nil
	}
	return []evidence.Fact{observed(connectsAccepted, strconv.Itoa(len(through)),
		fmt.Sprintf("%d of %d connects to the server's port got through while it refused sessions", len(through), len(all)),
		through[0].Ref, through[len(through)-1].Ref)}
}
