package boards

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
)

// eager is a store that does something right after a commit, before the committer
// hears of it.
type eager struct {
	board.Store
	after func()
}

func (e *eager) Begin(ctx context.Context, wants []board.Want) (board.Tx, []board.Facts, error) {
	tx, facts, err := e.Store.Begin(ctx, wants)
	return eagerTx{tx, e}, facts, err
}

type eagerTx struct {
	board.Tx
	e *eager
}

func (t eagerTx) Commit(ctx context.Context) error {
	err := t.Tx.Commit(ctx)
	if then := t.e.after; then != nil {
		t.e.after = nil
		then()
	}
	return err
}

// TestAWriteThatComesAsARelayEndsIsTold: the write finds the relay at work and
// leaves the rest to it, and the relay has just looked.
func TestAWriteThatComesAsARelayEndsIsTold(t *testing.T) {
	ctx := context.Background()
	st := &eager{Store: memory.New(memory.Options{})}
	s, err := New(ctx, control.NewWriter(st), Config{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(region string) {
		v, err := s.Premise(ctx, app, "b", region)
		if err == nil {
			_, err = s.WritePremise(ctx, app, "b", wire.PremiseWrite{Region: region, Expect: v.Version, Content: json.RawMessage(`1`)})
		}
		if err != nil {
			t.Error(err)
		}
	}
	var told []wire.Notification
	notify := func(_ context.Context, n wire.Notification) error {
		if told = append(told, n); len(told) == 1 {
			// The next commit is the settlement. The write needs the writer, whose leader
			// waits here: it goes through another process's.
			st.after = func() {
				other, err := New(ctx, control.NewWriter(st.Store), Config{})
				if err != nil {
					t.Error(err)
					return
				}
				v, _ := other.Premise(ctx, app, "b", "p")
				_, err = other.WritePremise(ctx, app, "b", wire.PremiseWrite{Region: "p", Expect: v.Version, Content: json.RawMessage(`2`)})
				if err != nil {
					t.Error(err)
				}
				s.Relay(ctx, Ref(app, "b")) // as a write of this process does
			}
		}
		return nil
	}
	_, err = s.Create(ctx, app, wire.CreateBoard{Board: "b", Regions: []wire.RegionDecl{{Name: "p", Kind: wire.Premise}}, Agents: []wire.AgentDecl{{Name: "a"}}},
		board.Callables{Notify: map[string]board.Notifier{"a": notify}})
	if err != nil {
		t.Fatal(err)
	}
	write("p")
	if len(told) != 2 || told[1].From != 2 || told[1].To != 2 {
		t.Fatalf("told %+v", told)
	}
}
