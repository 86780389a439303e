package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/timeline"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// teller tells a run's timeline: the record as it grows, and what only this process
// sees.
type teller struct {
	cfg Config

	mu     sync.Mutex
	reader *timeline.Reader
	cursor string
	head   id.Seq
	// known are the attempts that were on the record before they were sent to anybody
	// by this process: sending one of them is sending it again.
	known map[string]bool
}

func newTeller(cfg Config) *teller {
	return &teller{cfg: cfg, reader: timeline.NewReader(), known: map[string]bool{}}
}

// tell hands one event on.
func (t *teller) tell(e timeline.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hand(e)
}

func (t *teller) hand(e timeline.Event) {
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	if t.cfg.Observe != nil {
		t.cfg.Observe(e)
	}
}

// follow tells what was added to the record since the last time.
func (t *teller) follow(ctx context.Context) error {
	return t.read(ctx, func(e timeline.Event) { t.hand(e) })
}

// skip reads the record without telling it.
func (t *teller) skip(ctx context.Context) error {
	return t.read(ctx, func(e timeline.Event) {
		if e.Kind == timeline.Summoned {
			t.known[attemptKey(e.Agent, e.Entry, e.Attempt)] = true
		}
	})
}

// again reports whether a summons that is about to be sent was sent before.
func (t *teller) again(s wire.Summons) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := attemptKey(s.Agent, s.Entry, s.Attempt)
	before := t.known[key]
	t.known[key] = true
	return before
}

func (t *teller) read(ctx context.Context, hand func(timeline.Event)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		page, err := t.cfg.Boards.Changes(ctx, t.cfg.Principal, t.cfg.Board, wire.Page{Cursor: t.cursor, Limit: wire.MaxPage})
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			if e, ok := t.reader.Read(entry); ok {
				hand(e)
			}
		}
		t.cursor, t.head = page.Next, page.Head
		if !page.More {
			return nil
		}
	}
}

func attemptKey(agent string, entry, attempt int) string {
	return fmt.Sprintf("%d/%d/%s", entry, attempt, agent)
}

// watched is a surface whose refusals and repeats join the timeline.
type watched struct {
	agent.Surface
	agent string
	told  *teller
	moved chan<- struct{}
}

func (w *watched) UpdateContext(ctx context.Context, field string, value any) (wire.Updated, error) {
	u, err := w.Surface.UpdateContext(ctx, field, value)
	return w.note(ctx, field, u, err)
}

func (w *watched) UpdateEntry(ctx context.Context, field, key string, value any) (wire.Updated, error) {
	u, err := w.Surface.UpdateEntry(ctx, field, key, value)
	return w.note(ctx, field, u, err)
}

func (w *watched) note(ctx context.Context, field string, u wire.Updated, err error) (wire.Updated, error) {
	if err == nil {
		// The write is on the record; telling it late is no reason to fail it.
		_ = w.told.follow(context.WithoutCancel(ctx))
		if !u.Live {
			select {
			case w.moved <- struct{}{}:
			default: // it is known already
			}
		}
	}
	switch r, refused := refusal.As(err); {
	case refused:
		w.told.tell(timeline.Event{Kind: timeline.Refused, Agent: w.agent, Field: field, Refusal: r})
	case err == nil && u.Repeated:
		w.told.tell(timeline.Event{Kind: timeline.Repeated, Agent: w.agent, Field: field})
	}
	return u, err
}
