package body

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
)

// DBExpert reads activity.csv and, when the board points there, settings.csv.
var DBExpert agent.Body = analyse(InDatabase)

// sustained is for how many samples in a row something must hold.
const sustained = 10

// sample is what one instant's rows of activity.csv say.
type sample struct {
	evidence.Ref
	rows []evidence.Row
	// lost is why there was no sample.
	lost string
}

func samples(rows []evidence.Row) []sample {
	var all []sample
	for _, r := range rows {
		if len(all) == 0 || !all[len(all)-1].At.Equal(r.At) {
			all = append(all, sample{Ref: r.Ref})
		}
		s := &all[len(all)-1]
		if note := r.Get("note"); note != "" {
			s.lost = note
			continue
		}
		s.rows = append(s.rows, r)
	}
	return all
}

// InDatabase finds what the sampled activity says, and what the settings say of what
// the board names.
func InDatabase(dir string, before evidence.Board) ([]evidence.Fact, error) {
	rows, err := evidence.ReadTable(dir, "activity.csv")
	if err != nil {
		return nil, err
	}
	settings, err := evidence.ReadTable(dir, "settings.csv")
	if err != nil {
		return nil, err
	}
	all := samples(rows)
	facts := slices.Concat(sessions(all, before), holder(all), lost(all))

	// What the others' side of the board points at.
	if _, ok := before.Find(refusedConnections); ok {
		facts = append(facts, limit(settings)...)
	}
	if p, ok := before.Find(lockWaits); ok && names(p.Text, facts, before) {
		facts = append(facts, idleLimit(settings)...)
	}
	return facts, nil
}

// names says whether a text names the process that holds the lock.
func names(text string, facts []evidence.Fact, before evidence.Board) bool {
	if p, ok := before.Find(lockHolder); ok {
		facts = append(facts, p.Fact)
	}
	return slices.ContainsFunc(facts, func(f evidence.Fact) bool {
		return f.Topic == lockHolder && slices.Contains(digits.FindAllString(text, -1), f.Value)
	})
}

// sessions finds the number of sessions at which the server stood still, or else
// the highest there was.
func sessions(all []sample, before evidence.Board) []evidence.Fact {
	peak, run, best := 0, 0, 0
	var calm []float64
	var first, from, to sample
	for _, s := range all {
		n := len(s.rows)
		if s.lost == "" && s.At.Before(before.Onset) {
			calm = append(calm, float64(n))
		}
		switch {
		case n > peak:
			peak, run, best, first, from, to = n, 1, 1, s, s, s
		case n == peak && n > 0:
			if run++; run == 1 {
				first = s
			}
			if run > best {
				best, from, to = run, first, s
			}
		default:
			run = 0
		}
	}
	if peak == 0 {
		return nil
	}
	usual := median(calm)
	if best >= sustained && float64(peak) >= 2*usual {
		return []evidence.Fact{observed(sessionPlateau, strconv.Itoa(peak),
			fmt.Sprintf("sessions rose from a median of %s before the onset to %d, stood there for %d samples in a row and never rose further", number(usual), peak, best),
			from.Ref, to.Ref)}
	}
	return []evidence.Fact{observed("session-peak", strconv.Itoa(peak),
		fmt.Sprintf("at most %d sessions in any sample, a median of %s before the onset, and no level at which they stood still", peak, number(usual)), from.Ref)}
}

// holder finds the process that most others wait for, directly or through others,
// while it waits for nobody.
func holder(all []sample) []evidence.Fact {
	seen := map[string]int{}
	most, pid := 0, ""
	var at evidence.Row
	for _, s := range all {
		by := map[string][]string{}
		row := map[string]evidence.Row{}
		for _, r := range s.rows {
			by[r.Get("pid")] = strings.Fields(r.Get("blocked_by"))
			row[r.Get("pid")] = r
		}
		waiting := map[string]int{}
		for p, direct := range by {
			if len(direct) > 0 {
				waiting[root(p, by)]++
			}
		}
		for _, p := range slices.Sorted(maps.Keys(waiting)) {
			n := waiting[p]
			seen[p]++
			if r, ok := row[p]; ok && n > most {
				most, pid, at = n, p, r
			}
		}
	}
	if pid == "" || seen[pid] < sustained {
		return nil
	}
	last := at
	for _, s := range all {
		for _, r := range s.rows {
			if r.Get("pid") == pid {
				last = r
			}
		}
	}
	return []evidence.Fact{observed(lockHolder, pid,
		fmt.Sprintf("process %s (%s) blocks %d sessions and waits for none; it is %s, its transaction %s s old when last seen, its statement %q",
			pid, last.Get("application_name"), most, last.Get("state"), last.Get("xact_seconds"), last.Get("query")),
		at.Ref, last.Ref)}
}

// root follows who waits for whom to one that waits for nobody. A circle ends where
// it closes.
func root(pid string, by map[string][]string) string {
	visited := map[string]bool{}
	for len(by[pid]) > 0 && !visited[pid] {
		visited[pid] = true
		pid = by[pid][0]
	}
	return pid
}

// lost reports the instants at which the database answered no sample.
func lost(all []sample) []evidence.Fact {
	var missing []sample
	for _, s := range all {
		if s.lost != "" {
			missing = append(missing, s)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []evidence.Fact{observed("samples-lost", strconv.Itoa(len(missing)),
		fmt.Sprintf("%d samples of the activity could not be taken, the first: %q", len(missing), missing[0].lost),
		missing[0].Ref, missing[len(missing)-1].Ref)}
}

func setting(rows []evidence.Row, name string) (evidence.Row, int, bool) {
	for _, r := range rows {
		if r.Get("name") == name {
			n, err := strconv.Atoi(r.Get("setting"))
			return r, n, err == nil
		}
	}
	return evidence.Row{}, 0, false
}

// limit is the number of sessions that the server admits before it refuses
// ordinary ones.
func limit(rows []evidence.Row) []evidence.Fact {
	most, n, ok := setting(rows, "max_connections")
	reserved, k, ok2 := setting(rows, "superuser_reserved_connections")
	if !ok || !ok2 {
		return nil
	}
	return []evidence.Fact{configured(admissionLimit, strconv.Itoa(n-k),
		fmt.Sprintf("max_connections %d less superuser_reserved_connections %d: with that many sessions ordinary ones are refused", n, k),
		most.Ref, reserved.Ref)}
}

// idleLimit says how long a transaction may stay open without doing anything.
func idleLimit(rows []evidence.Row) []evidence.Fact {
	r, n, ok := setting(rows, "idle_in_transaction_session_timeout")
	if !ok {
		return nil
	}
	text := fmt.Sprintf("idle_in_transaction_session_timeout is %d ms: a session idle in a transaction is ended then", n)
	if n == 0 {
		text = "idle_in_transaction_session_timeout is 0: nothing ends a session that stays idle in its transaction and keeps its locks"
	}
	return []evidence.Fact{configured(idleTransactionLimit, strconv.Itoa(n), text, r.Ref)}
}
