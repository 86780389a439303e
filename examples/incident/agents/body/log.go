package body

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/evidence"
)

// LogAnalyst reads postgresql.log.
var LogAnalyst agent.Body = analyse(InLog)

var (
	refusal  = regexp.MustCompile(`too many clients already|remaining connection slots are reserved|too many connections for `)
	broken   = regexp.MustCompile(`could not (receive|send) data (from|to) client|Connection reset by peer|Broken pipe|unexpected EOF on client connection`)
	waiting  = regexp.MustCompile(`^process (\d+) still waiting for (\S+) on (.*?) after `)
	holding  = regexp.MustCompile(`^Process(?:es)? holding the lock: ([0-9, ]+)\.`)
	uncleans = regexp.MustCompile(`terminated by signal|terminating any other active server processes|was not properly shut down|due to startup process failure`)
	digits   = regexp.MustCompile(`\d+`)
)

// InLog finds what postgresql.log says, and what it says of a process that the board
// names.
func InLog(dir string, before evidence.Board) ([]evidence.Fact, error) {
	lines, err := evidence.ReadLog(dir, "postgresql.log")
	if err != nil {
		return nil, err
	}
	var refused, brokenOff, unclean, waits []evidence.LogLine
	classes := map[string][]evidence.LogLine{}
	for _, l := range lines {
		switch {
		case l.Level == "DETAIL" || l.Level == "STATEMENT" || l.Level == "HINT":
		case refusal.MatchString(l.Message):
			refused = append(refused, l)
		case broken.MatchString(l.Message):
			brokenOff = append(brokenOff, l)
		case waiting.MatchString(l.Message):
			waits = append(waits, l)
		case l.Level == "PANIC" || l.Level == "FATAL" || l.Level == "ERROR":
			classes[l.Level] = append(classes[l.Level], l)
		case uncleans.MatchString(l.Message):
			unclean = append(unclean, l)
		}
	}

	var facts []evidence.Fact
	add := func(topic string, found []evidence.LogLine, text string) {
		if len(found) == 0 {
			return
		}
		refs := []evidence.Ref{found[0].Ref}
		if len(found) > 1 {
			refs = append(refs, found[len(found)-1].Ref)
		}
		facts = append(facts, observed(topic, strconv.Itoa(len(found)), text, refs...))
	}
	add(refusedConnections, refused, during(refused, "connections refused")+": "+most(refused))
	add(lockWaits, waits, waitText(lines, waits))
	add(brokenConnections, brokenOff, during(brokenOff, "connections broken off")+": "+most(brokenOff))
	for _, level := range []string{"PANIC", "FATAL", "ERROR"} {
		found := classes[level]
		add("log-"+strings.ToLower(level), found, during(found, level+" messages")+": "+most(found))
	}
	add("unclean-stops", unclean, during(unclean, "messages of a server that stops or recovers")+": "+most(unclean))

	// What the database's side of the board points at.
	if p, ok := before.Find(lockHolder); ok {
		facts = append(facts, trace(lines, p.Value)...)
	}
	return facts, nil
}

// trace says what the log has of one process.
func trace(lines []evidence.LogLine, pid string) []evidence.Fact {
	var own []evidence.LogLine
	for _, l := range lines {
		if strconv.Itoa(l.PID) == pid {
			own = append(own, l)
		}
	}
	if len(own) == 0 {
		return nil
	}
	last := own[len(own)-1]
	end := lines[len(lines)-1]
	return []evidence.Fact{observed(holderInLog, pid,
		fmt.Sprintf("process %s has %d lines; its last is %q, and in the %.0f s to the end of the log it neither fails nor ends",
			pid, len(own), last.Message, end.At.Sub(last.At).Seconds()),
		last.Ref, end.Ref)}
}

// waitText describes logged lock waits and who is named as holding the lock.
func waitText(lines, waits []evidence.LogLine) string {
	if len(waits) == 0 {
		return ""
	}
	var holders []string
	for _, l := range lines {
		if m := holding.FindStringSubmatch(l.Message); m != nil && l.Level == "DETAIL" {
			holders = append(holders, strings.Split(m[1], ", ")...)
		}
	}
	m := waiting.FindStringSubmatch(waits[0].Message)
	text := fmt.Sprintf("%s; the first for %s on %s", during(waits, "waits for a lock"), m[2], m[3])
	if len(holders) > 0 {
		text += "; named as holding it: process " + evidence.Names(holders)
	}
	return text
}

// during counts messages and says how long they went on.
func during(found []evidence.LogLine, what string) string {
	if len(found) == 0 {
		return ""
	}
	if len(found) == 1 {
		return what + ", 1 in all"
	}
	return fmt.Sprintf("%s, %d in %.0f s", what, len(found), found[len(found)-1].At.Sub(found[0].At).Seconds())
}

// most names the two most frequent messages, numbers aside.
func most(found []evidence.LogLine) string {
	count := map[string]int{}
	example := map[string]string{}
	var order []string
	for _, l := range found {
		form := digits.ReplaceAllString(l.Message, "N")
		if count[form]++; count[form] == 1 {
			order = append(order, form)
			example[form] = l.Message
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	var parts []string
	for _, form := range order[:min(2, len(order))] {
		part := strconv.Quote(example[form])
		if n := count[form]; n > 1 {
			part += fmt.Sprintf(" %d times", n)
		}
		parts = append(parts, part)
	}
	if len(order) > 2 {
		parts = append(parts, fmt.Sprintf("and %d kinds more", len(order)-2))
	}
	return strings.Join(parts, ", ")
}
