package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

const header = "| what | target | result | floor | ratio | met |\n|---|---|---|---|---|---|\n"

// line is the row as the table has it.
func (r row) line() string {
	met := "yes"
	switch {
	case r.reported:
		met = "–"
	case !r.met:
		met = "**no**"
	}
	cells := []string{r.what, r.target, r.result, r.floor, r.ratio}
	for i, c := range cells {
		if c == "" {
			cells[i] = "–"
		}
	}
	return "| " + strings.Join(cells, " | ") + " | " + met + " |"
}

// document is the page that is printed and kept.
func (b *bench) document(took time.Duration) string {
	var s strings.Builder
	s.WriteString("# Benchmarks\n\n")
	s.WriteString("`make bench` measures these figures and writes this page; do not edit it by hand.\n\n")
	s.WriteString(header)
	for _, r := range b.rows {
		s.WriteString(r.line() + "\n")
	}
	s.WriteString(reading)
	s.WriteString("\n## Where\n\n")
	item := func(format string, args ...any) { fmt.Fprintf(&s, "- "+format+"\n", args...) }
	item("%s, %d cores of %s, %s", time.Now().UTC().Format("2006-01-02"), b.machine.cores, b.machine.cpu, b.machine.kernel)
	item("load average over the five minutes before the run: %s", b.machine.load)
	item("disk: append 4 KiB and fdatasync %s", millis(b.machine.sync))
	item("%s, GOMAXPROCS %d; SQLite through zombiezen.com/go/sqlite %s on modernc.org/sqlite %s", runtime.Version(),
		runtime.GOMAXPROCS(0), dependency("zombiezen.com/go/sqlite"), dependency("modernc.org/sqlite"))
	item("callers, the system under test, its floor and the databases share those cores; the run took %s", took.Round(time.Second))
	if len(b.settings) > 0 {
		s.WriteString("\n## Durability, as the connections said\n\n")
		for _, v := range b.settings {
			item("%s: %s", v.store, v.values)
		}
	}
	return s.String()
}

// setting keeps what a kind of connection said of itself, once.
func (b *bench) setting(store, values string) {
	if !slices.Contains(b.settings, setting{store, values}) {
		b.settings = append(b.settings, setting{store, values})
	}
}

const reading = `
A figure is the median of its rounds, with the quartiles in brackets. Where there is a floor, both sides were measured
in turns within one process, and the ratio is the median of the ratios by round. A floor writes the same rows into the
same tables, made by the same migrations, under the same settings, without Slate; where the target names no floor, what
stands there is what the result is compared with. What is said to be "of the processors" is the processor time of the
whole process: on a machine that does other things it says more of the code than the clock does.

Contents are 300 bytes of JSON. History was put in place through the store's own Begin, Apply and Commit, 2,000
contributions a transaction, each with a salt, a digest and an idempotency key of its own; where there are many boards,
half of it is on the one caller's board and half is spread over theirs. A delay is counted from the call, before it was
queued, to the start of the first callback whose range holds what it wrote. Opening a run is opening the file and the
first claim; its record was made by the reducer and put in place like other history.
`
