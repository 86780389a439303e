// Package analyst is the Go form of the body that the suite runs in every language:
// it tries a field that does not exist, appends a fact for each list it is asked to
// add to, reads the facts back and writes a hypothesis about what it read.
package analyst

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Body is an agent.Body.
func Body(ctx context.Context, s *wire.Summons, b agent.Surface) error {
	if _, err := b.UpdateContext(ctx, "notes", "hello"); refusal.CodeOf(err) != refusal.UndeclaredField {
		return fmt.Errorf("writing an undeclared field came to %v", err)
	} else {
		fmt.Fprintln(os.Stderr, "refused:", refusal.CodeOf(err))
	}
	for _, r := range s.Requirements {
		if r.Type == "list" && !r.Met {
			if _, err := b.UpdateContext(ctx, r.Field, s.Agent+" looked at "+r.Field); err != nil {
				return err
			}
		}
	}
	facts, err := b.ReadContext(ctx, "facts")
	if err != nil {
		return err
	}
	n := len(facts.Entries)
	if n == 0 {
		return errors.New("there are no facts")
	}
	var last string
	if err := json.Unmarshal(facts.Entries[n-1].Value, &last); err != nil {
		return err
	}
	_, err = b.UpdateContext(ctx, "hypotheses", fmt.Sprintf("%d facts, the last: %s", n, last))
	return err
}
