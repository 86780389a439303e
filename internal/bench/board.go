package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// payload is 300 bytes of JSON, as a contribution looks.
var payload = json.RawMessage(`{"fact":"checkout latency rose at 09:14","source":"metrics","confidence":0.8,"tags":["latency","checkout"],"note":"` +
	strings.Repeat("x", 183) + `"}`)

func init() {
	if len(payload) != 300 {
		panic(fmt.Sprintf("bench: the payload has %d bytes", len(payload)))
	}
}

const (
	level   = "notes"
	premise = "goal"
	writer  = "analyst"
)

// boardSpec says what a board of the benchmarks has beside a level and a premise.
type boardSpec struct {
	// agents is how many there are, subscribes what wakes them; unset, premises do.
	agents     int
	subscribes wire.Names
	// notify is called in this process for each agent; nil makes agents that nobody
	// here reaches.
	notify func(b *slate.Board, agent string) board.Notifier
}

// makeBoard makes a board with an open run.
func makeBoard(ctx context.Context, s *slate.System, name id.Board, spec boardSpec) (*slate.Board, error) {
	c := wire.CreateBoard{Board: name,
		Regions: []wire.RegionDecl{{Name: level, Kind: wire.Level}, {Name: premise, Kind: wire.Premise}}}
	calls := board.Callables{}
	if spec.notify != nil {
		calls.Notify = map[string]board.Notifier{}
	}
	for i := range spec.agents {
		agent := fmt.Sprintf("agent-%02d", i)
		c.Agents = append(c.Agents, wire.AgentDecl{Name: agent, SubscribesTo: spec.subscribes})
		if spec.notify != nil {
			calls.Notify[agent] = spec.notify(s.Board(name), agent)
		}
	}
	b, _, err := s.Create(ctx, c, calls)
	return b, err
}

// acknowledging is an agent that acknowledges what it is told, while it is told.
func acknowledging(b *slate.Board, agent string) board.Notifier {
	surface := b.As(agent)
	return func(ctx context.Context, n wire.Notification) error {
		return surface.Acknowledge(ctx, wire.Acknowledge{Through: n.To})
	}
}

// levelWriter writes contributions to one board, one after the other.
type levelWriter struct {
	ctx context.Context
	b   *slate.Board
	// keys says to write with idempotency keys, of which a caller has its own.
	keys      bool
	caller, n int64
}

func (w *levelWriter) write() error {
	body := wire.LevelWrite{Region: level, Content: payload}
	if w.keys {
		w.n++
		body.Key = keyOf(w.caller, w.n)
	}
	r, err := w.b.WriteLevel(w.ctx, writer, body)
	return written(r, err)
}

// written is an error when a write was not taken.
func written(r wire.Result, err error) error {
	if err == nil && (r.Written == nil || r.Written.Repeated) {
		err = fmt.Errorf("a write came to %+v", r)
	}
	return err
}

// premiseWriter replaces one premise over and over.
type premiseWriter struct {
	ctx     context.Context
	b       *slate.Board
	version id.Version
}

func (w *premiseWriter) write() error {
	r, err := w.b.WritePremise(w.ctx, writer, wire.PremiseWrite{Region: premise, Expect: w.version, Content: payload})
	w.version++
	return written(r, err)
}
