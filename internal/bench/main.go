// Command bench measures how fast Slate is and holds the figures to their targets:
// one table, the target beside the result, and beside both the floor, which is what
// the bare parts do for the same rows in the same run. It writes docs/benchmarks.md.
//
// It opens systems as an application would, through the root package, and may go
// below it only for what it compares with: a driver for the floor, a store to fill.
// Nothing imports it and no test depends on a figure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"syscall"
	"time"
)

// group is a part of the table that shares what it sets up.
type group struct {
	name string
	run  func(b *bench) error
}

// groups are in the order of the table.
var groups = []group{
	{"memory", memoryRows},
	{"sqlite-one", sqliteOneRows},
	{"sqlite-many", sqliteManyRows},
	{"postgres", postgresRows},
	{"history", historyRows},
	{"latency", latencyRows},
	{"reducer", reducerRows},
	{"opening", openingRows},
	{"open-boards", openBoardsRows},
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "write the table to this file, when every row was measured at full length")
	run := flag.String("run", "", "measure only the groups whose name matches this expression")
	flag.BoolVar(&o.quick, "quick", false, "fewer and shorter rounds: the shape of the table, not its figures")
	flag.BoolVar(&o.verbose, "v", false, "also tell what each side used of the processors")
	flag.BoolVar(&o.strict, "strict", false, "end with status 1 when a target is missed")
	flag.StringVar(&o.dir, "dir", "", "make the databases in this folder; empty means the system's for temporary files")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the run to this file")
	child := flag.String("open-boards", "", "measure what open boards hold, in this folder, and nothing else; a run of the program asks this of another")
	flag.Usage = usage
	flag.Parse()
	var err error
	if o.run, err = regexp.Compile(*run); err != nil || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	o.some = *run != ""
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *child != "" {
		if err := openBoards(ctx, *child); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	missed, err := measure(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if missed > 0 && o.strict {
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench [-run EXPRESSION] [-quick] [-v] [-strict] [-dir FOLDER] [-cpuprofile FILE] [-out FILE]")
	flag.PrintDefaults()
	fmt.Fprint(os.Stderr, "groups:")
	for _, g := range groups {
		fmt.Fprint(os.Stderr, " ", g.name)
	}
	fmt.Fprintln(os.Stderr)
}

type options struct {
	out, dir, profile   string
	run                 *regexp.Regexp
	some, quick, strict bool
	verbose             bool
}

// bench is one run of the program.
type bench struct {
	ctx            context.Context
	quick, verbose bool
	dir            string
	machine        machineFacts
	rows           []row
	cpu            []figures
	// settings are the durability settings that were read back, by store.
	settings []setting
	cleanups []func()
}

// row is one line of the table.
type row struct {
	what, target, result, floor, ratio string
	met                                bool
	// reported is set for a figure without a target.
	reported bool
}

// setting is what one kind of connection said of itself.
type setting struct{ store, values string }

func (b *bench) add(r row) {
	b.rows = append(b.rows, r)
	fmt.Fprintln(os.Stderr, r.line())
}

// cleanup is called with what a group made, once the group ends.
func (b *bench) cleanup(f func()) { b.cleanups = append(b.cleanups, f) }

func (b *bench) end() {
	for i := len(b.cleanups) - 1; i >= 0; i-- {
		b.cleanups[i]()
	}
	b.cleanups = nil
}

// measure runs the groups that are asked for and prints the table. It returns how
// many targets were missed.
func measure(ctx context.Context, o options) (missed int, err error) {
	dir, err := os.MkdirTemp(o.dir, "slate-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, quick: o.quick, verbose: o.verbose, dir: dir}
	if b.machine, err = lookAtMachine(dir); err != nil {
		return 0, err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return 0, err
		}
		defer pprof.StopCPUProfile()
	}
	begun := time.Now()
	for _, g := range groups {
		if !o.run.MatchString(g.name) {
			continue
		}
		err := g.run(b)
		b.end()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", g.name, err)
		}
		if ctx.Err() != nil {
			return 0, errors.New("interrupted")
		}
	}
	text := b.document(time.Since(begun))
	fmt.Print(text)
	for _, r := range b.rows {
		if !r.met && !r.reported {
			missed++
		}
	}
	switch {
	case o.out == "":
	case o.some || o.quick:
		fmt.Fprintf(os.Stderr, "bench: %s was left as it is: it is written by a run of every group at full length\n", o.out)
	default:
		err = os.WriteFile(o.out, []byte(text), 0o644)
	}
	return missed, err
}
