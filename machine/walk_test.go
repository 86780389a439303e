package machine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slate-agents/slate/wire"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata")

// TestWalk replays the source's walk: each command of the transcript, then what it
// did to the record.
func TestWalk(t *testing.T) {
	const file = "testdata/walk.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := &board{t: t, def: incident(t), now: start}
	var out bytes.Buffer
	var comments []string
	for _, chunk := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		lines := strings.Split(chunk, "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			comments, lines = append(comments, lines[0]), lines[1:]
		}
		for _, c := range comments {
			fmt.Fprintln(&out, c)
		}
		comments = nil
		if len(lines) == 0 {
			fmt.Fprintln(&out)
			continue
		}
		fmt.Fprintf(&out, "%s\n----\n%s\n", lines[0], b.command(lines[0]))
	}
	got := strings.TrimSpace(out.String()) + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(data) {
		t.Errorf("the walk went another way; run with -rewrite and read the difference\n%s", got)
	}
	b.check()

	if n := b.run.Counters().Transitions; n != 6 {
		t.Errorf("%d transitions, want 6", n)
	}
	sent := 0
	for _, e := range b.entries {
		if e.Region == JournalRegion && bytes.Contains(e.Content, []byte(`"type":"sent"`)) {
			sent++
		}
	}
	if sent != 10 {
		t.Errorf("%d summonses, want 10", sent)
	}
	if end := b.run.Ended(); end == nil || !end.Terminal || end.State != "done" {
		t.Errorf("ended %+v", end)
	}
	facts, _ := b.run.Field("facts")
	by := map[string]int{}
	for _, e := range facts.Entries {
		by[e.Writer]++
	}
	if len(facts.Entries) != 6 || by["log_analyst"] != 2 || by["db_expert"] != 2 || by["net_expert"] != 2 {
		t.Errorf("facts by author: %v", by)
	}
	hypotheses, _ := b.run.Field("hypotheses")
	for _, e := range hypotheses.Entries {
		if e.Key != "agent:"+e.Writer || !strings.Contains(string(e.Value), "round 2") {
			t.Errorf("hypothesis %+v", e)
		}
	}
}

// command runs one line of a transcript and returns what it did.
func (b *board) command(line string) string {
	words := strings.SplitN(line, " ", 4)
	var out strings.Builder
	mark := len(b.entries)
	switch {
	case line == "open":
		*b = *open(b.t, b.def)
	case line == "due":
		for _, s := range b.run.Due(b.now) {
			fmt.Fprintf(&out, "%s entry %d attempt %d\n", s.Agent, s.Entry, s.Attempt)
		}
	case line == "state":
		fmt.Fprintf(&out, "state %s entry %d\n%s\n", b.run.State(), b.run.Entry(), b.run.Block())
	case words[0] == "objective":
		fmt.Fprintln(&out, b.run.Objective())
		for _, q := range b.run.Requirements(words[1]) {
			fmt.Fprintf(&out, "%s %s required=%v met=%v %q\n", q.Field, q.Type, q.Required, q.Met, q.Prompt)
		}
	case words[0] == "claim":
		s := b.claim(words[1])
		fmt.Fprintf(&out, "entry %d attempt %d generation %d\n", s.Entry, s.Attempt, s.Generation)
	case words[0] == "write":
		if no := b.write(words[1], words[2], words[3]); no != nil {
			fmt.Fprintln(&out, no)
		}
	case words[0] == "ack":
		if no := b.settle(words[1], true, ""); no != nil {
			fmt.Fprintln(&out, no)
		}
	default:
		b.t.Fatalf("unknown command %q", line)
	}
	for _, e := range b.entries[mark:] {
		fmt.Fprintln(&out, recorded(e))
	}
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}

func recorded(e wire.Entry) string {
	content := "cleared"
	if e.Content != nil {
		content = string(e.Content)
	}
	version := ""
	if e.Kind == wire.Premise {
		version = fmt.Sprintf(" v%d", e.Version)
	}
	return fmt.Sprintf("%d %s%s by %s: %s", e.Seq, e.Region, version, e.Writer, content)
}
