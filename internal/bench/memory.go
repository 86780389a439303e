package main

import (
	"github.com/slate-agents/slate"
)

// memoryRows measure writes where nothing is durable: what is left is Slate.
func memoryRows(b *bench) error {
	sys, err := slate.Memory(b.ctx, slate.Options{})
	if err != nil {
		return err
	}
	b.cleanup(func() { sys.Close() })
	quiet, err := makeBoard(b.ctx, sys, "quiet", boardSpec{agents: 10})
	if err != nil {
		return err
	}
	w := &levelWriter{ctx: b.ctx, b: quiet}
	ns, err := b.turns(51, 10000, timed(w.write))
	if err != nil {
		return err
	}
	b.add(row{what: "level write, in memory, 10 agents not woken", target: "≤ 3 µs",
		result: micros(ns[0]) + b.busy(0), met: ns[0].median() <= 3e3})

	woken, err := makeBoard(b.ctx, sys, "woken", boardSpec{agents: 10, notify: acknowledging})
	if err != nil {
		return err
	}
	p := &premiseWriter{ctx: b.ctx, b: woken}
	ns, err = b.turns(51, 1000, timed(p.write))
	if err != nil {
		return err
	}
	b.add(row{what: "premise write that wakes 10 agents, which acknowledge inline, in memory", target: "≤ 60 µs",
		result: micros(ns[0]) + b.busy(0), met: ns[0].median() <= 60e3})
	return nil
}
