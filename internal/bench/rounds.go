package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// figures are one quantity as every round measured it.
type figures []float64

// at is the figure that a part p of the rounds does not exceed.
func (f figures) at(p float64) float64 {
	if len(f) == 0 {
		return 0
	}
	s := slices.Clone(f)
	slices.Sort(s)
	i := int(p*float64(len(s)-1) + 0.5)
	return s[i]
}

func (f figures) median() float64 { return f.at(0.5) }

// over divides two quantities round by round.
func (f figures) over(g figures) figures {
	out := make(figures, min(len(f), len(g)))
	for i := range out {
		out[i] = f[i] / g[i]
	}
	return out
}

// side is one thing that is measured in turns with others. It runs n operations
// and returns what they took; what it does before and after is not counted.
type side func(n int) (time.Duration, error)

// timed makes a side of an operation.
func timed(op func() error) side {
	return func(n int) (time.Duration, error) {
		begun := time.Now()
		for range n {
			if err := op(); err != nil {
				return 0, err
			}
		}
		return time.Since(begun), nil
	}
}

// turns measures sides in turns, n operations at a time, and returns the
// nanoseconds an operation of each by round. Who begins changes from round to
// round; the first rounds warm up and do not count. In turns, whatever else the
// machine does is in the subject and in its floor alike. What each side used of the
// processors, also by round, is then in b.cpu.
func (b *bench) turns(rounds, n int, sides ...side) ([]figures, error) {
	const warm = 2
	if b.quick {
		rounds = min(rounds, 5)
	}
	out, cpu := make([]figures, len(sides)), make([]figures, len(sides))
	for round := range warm + rounds {
		for i := range sides {
			i = (i + round) % len(sides)
			if err := b.ctx.Err(); err != nil {
				return nil, err
			}
			before := cpuTime()
			took, err := sides[i](n)
			if err != nil {
				return nil, err
			}
			if round >= warm {
				out[i] = append(out[i], float64(took.Nanoseconds())/float64(n))
				cpu[i] = append(cpu[i], float64(cpuTime()-before)/float64(n))
			}
		}
	}
	b.cpu = cpu
	if b.verbose {
		for i := range sides {
			fmt.Fprintf(os.Stderr, "  side %d: %s an operation, of the processors %s\n", i, micros(out[i]), micros(cpu[i]))
		}
	}
	return out, nil
}

// cpuTime is what this process has used of the processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Forms of a figure in the table: the median, and in brackets the quartiles.

func micros(ns figures) string { return spread(ns, 1e-3, " µs") }

func millis(ns figures) string { return spread(ns, 1e-6, " ms") }

func times(ratio figures) string { return spread(ratio, 1, "") }

func spread(f figures, scale float64, unit string) string {
	return fmt.Sprintf("%s%s (%s–%s)", short(f.median()*scale), unit, short(f.at(0.25)*scale), short(f.at(0.75)*scale))
}

// busy is what an operation of a side used of the processors: on a machine that does
// other things it says more of the code than the clock does.
func (b *bench) busy(side int) string { return "; " + micros(b.cpu[side]) + " of the processors" }

// perSecond is how often something that takes that long happens.
func perSecond(ns figures) figures {
	out := make(figures, len(ns))
	for i := range ns {
		out[i] = 1e9 / ns[i]
	}
	return out
}

func rate(persec figures) string {
	return fmt.Sprintf("%s/s (%s–%s)", whole(persec.median()), whole(persec.at(0.25)), whole(persec.at(0.75)))
}

// short is a number with three digits that matter.
func short(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// whole is a number with its thousands apart.
func whole(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
