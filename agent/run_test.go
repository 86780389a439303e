package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

const summons = `{"type":"summons","protocol":1,"board":"b","machine":"m","state":"s","agent":"a","later":"unknown",` +
	`"requirements":[{"field":"x","required":false},{"field":"y","required":true},{"field":"z","required":true,"met":true}]}` + "\n"

// peer plays Slate: it answers each call with what script says, "" meaning that it
// hangs up.
func peer(t *testing.T, script func(wire.Call) string, body agent.Body) error {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	calls, out := io.Pipe()
	in, results := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := io.WriteString(results, summons); err != nil {
			return
		}
		lines := bufio.NewScanner(calls)
		for lines.Scan() {
			var c wire.Call
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Errorf("a call is not one: %v", err)
			}
			answer := script(c)
			if answer == "" {
				break
			}
			if _, err := io.WriteString(results, strings.ReplaceAll(answer, "ID", string(c.ID))+"\n"); err != nil {
				break
			}
		}
		results.Close()
		calls.Close()
	}()
	err := agent.Run(t.Context(), in, out, body)
	out.Close()
	<-done
	return err
}

const fine = `{"id":ID,"ok":true,"result":{"seq":1,"state":"s2","new":1},"position":9,"context":"ctx","live":true,"new":1}`

func TestRunCarriesCalls(t *testing.T) {
	err := peer(t, func(c wire.Call) string {
		if want := `{"field":"x","value":"<é>"}`; c.Call != "updateContext" || string(c.With) != want {
			t.Errorf("%s %s, want %s", c.Call, c.With, want)
		}
		return fine
	}, func(ctx context.Context, s *wire.Summons, b agent.Surface) error {
		if unmet := agent.Unmet(s); len(unmet) != 2 || unmet[0].Field != "y" || unmet[1].Field != "x" {
			t.Errorf("unmet: %+v", unmet)
		}
		u, err := b.UpdateContext(ctx, "x", "<é>")
		if want := (wire.Updated{Seq: 1, State: "s2", Live: true, Position: 9, Context: "ctx"}); u != want || err != nil {
			t.Errorf("%+v %v", u, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRunHandsRefusalsOn(t *testing.T) {
	script := func(wire.Call) string {
		return `{"id":ID,"ok":false,"refusal":{"code":"CONFLICT","message":"m","fix":"f"},"position":9,"context":"","live":false}`
	}
	err := peer(t, script, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		_, err := b.ReadContext(ctx, "x")
		return fmt.Errorf("wrapped: %w", err)
	})
	if r, ok := refusal.As(err); !ok || r.Code != refusal.Conflict || r.Fix != "f" {
		t.Errorf("%v", err)
	}
}

func TestRunLosesTheConnection(t *testing.T) {
	err := peer(t, func(wire.Call) string { return "" }, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		_, first := b.Standing(ctx)
		_, second := b.Standing(ctx)
		if first == nil || second == nil || refusal.CodeOf(first) != "" {
			t.Errorf("%v, then %v", first, second)
		}
		return first
	})
	if err == nil || !strings.Contains(err.Error(), "the connection is lost") {
		t.Errorf("%v", err)
	}
}

func TestRunReadsAResultThatIsNone(t *testing.T) {
	for _, answer := range []string{`garbage`, `{"id":ID,"ok":false}`, `{"id":ID,"ok":true,"result":7}`} {
		err := peer(t, func(wire.Call) string { return answer }, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
			_, err := b.Premise(ctx, "x")
			return err
		})
		if err == nil || refusal.CodeOf(err) != "" {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestRunServesGoroutines: calls made at once are told apart.
func TestRunServesGoroutines(t *testing.T) {
	err := peer(t, func(c wire.Call) string {
		return `{"id":ID,"ok":true,"result":{"state":"` + string(c.ID) + `"},"position":` + string(c.ID) + `,"context":"","live":true}`
	}, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]bool{}
		for range 50 {
			wg.Go(func() {
				s, err := b.Standing(ctx)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || fmt.Sprint(s.Position) != s.State || seen[s.State] {
					t.Errorf("%+v %v", s, err)
				}
				seen[s.State] = true
			})
		}
		wg.Wait()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestACallEndsWithItsContext, and the calls after it get their own results.
func TestACallEndsWithItsContext(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	first := true
	err := peer(t, func(wire.Call) string {
		if first {
			first = false
			close(arrived)
			<-release
		}
		return `{"id":ID,"ok":true,"result":{"state":"ID"},"position":1,"context":"","live":true}`
	}, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		short, cancel := context.WithCancel(ctx)
		go func() {
			<-arrived
			cancel()
		}()
		if _, err := b.Standing(short); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		close(release)
		s, err := b.Standing(ctx)
		if s.State != "2" || err != nil {
			t.Errorf("%+v %v", s, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRunWithoutASummons(t *testing.T) {
	never := func(context.Context, *wire.Summons, agent.Surface) error {
		t.Error("the body ran")
		return nil
	}
	for _, in := range []string{"", "hello\n", `{"type":"result"}` + "\n", `{"protocol":1}`} {
		if err := agent.Run(t.Context(), strings.NewReader(in), io.Discard, never); !errors.Is(err, agent.ErrNoSummons) {
			t.Errorf("%q: %v", in, err)
		}
	}
	err := agent.Run(t.Context(), strings.NewReader(`{"type":"summons","protocol":2}`), io.Discard, never)
	if err == nil || !strings.Contains(err.Error(), "protocol 2") {
		t.Errorf("%v", err)
	}
}

func TestACallTooLongForALine(t *testing.T) {
	err := peer(t, func(c wire.Call) string { return fine }, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		if _, err := b.PutBlob(ctx, make([]byte, wire.MaxLine)); err == nil || !strings.Contains(err.Error(), "a line may have") {
			t.Errorf("%v", err)
		}
		_, err := b.UpdateContext(ctx, "x", 1) // the connection is as good as before
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAValueThatIsNoJSON(t *testing.T) {
	err := peer(t, func(c wire.Call) string { return fine }, func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		for _, value := range []any{make(chan int), json.RawMessage(`{`)} {
			if _, err := b.UpdateContext(ctx, "x", value); err == nil {
				t.Errorf("%v went out", value)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
