package machines

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Surface is agent.Surface for one summons, in process. Its writes carry the
// summons's entry, attempt and generation, and a key made of entry, agent, attempt,
// field and ordinal, so that an attempt that is made again after its holder died
// repeats its writes instead of adding to them.
type Surface struct {
	agent.Board
	s       *Service
	p       control.Principal
	ref     id.Ref
	summons *wire.Summons

	mu sync.Mutex
	// ordinals counts the writes of this delivery by field.
	ordinals map[string]int
}

var _ agent.Surface = (*Surface)(nil)

// UpdateContext writes a context field.
func (a *Surface) UpdateContext(ctx context.Context, field string, v any) (wire.Updated, error) {
	return a.update(ctx, field, "", false, v)
}

// UpdateEntry writes a context field and names the map entry.
func (a *Surface) UpdateEntry(ctx context.Context, field, key string, v any) (wire.Updated, error) {
	return a.update(ctx, field, key, true, v)
}

func (a *Surface) update(ctx context.Context, field, key string, hasKey bool, v any) (wire.Updated, error) {
	content, err := value(v)
	if err != nil {
		return wire.Updated{}, err
	}
	if r := a.s.boards.Limits().Check(field, content); r != nil {
		return wire.Updated{}, r
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	ordinal := a.ordinals[field] + 1
	sum := a.summons
	w := machine.Write{Agent: sum.Agent, Entry: sum.Entry, Attempt: sum.Attempt, Generation: sum.Generation,
		Field: field, Key: key, HasKey: hasKey, Value: content,
		IdemKey: fmt.Sprintf("%d/%s/%d/%s/%d", sum.Entry, sum.Agent, sum.Attempt, field, ordinal)}
	if len(w.IdemKey) > id.MaxName {
		return wire.Updated{}, refusal.New(refusal.TooLarge, field, "the names of the agent and the field are too long together")
	}
	u, err := as[wire.Updated](a.s.do(ctx, a.ref, update{target{a.ref}, w, blobsOf(content)}))
	if err == nil {
		// A refused write took no place: the next one is the same ordinal again.
		a.ordinals[field] = ordinal
	}
	return u, err
}

// blobsOf returns the digest that a string value refers to, if it has the form of a
// blob reference.
func blobsOf(content json.RawMessage) []id.Digest {
	var ref string
	if len(content) == 0 || content[0] != '"' || json.Unmarshal(content, &ref) != nil {
		return nil
	}
	d, ok := strings.CutPrefix(ref, "sha256:")
	if !ok || len(d) != 64 {
		return nil
	}
	return []id.Digest{id.Digest(d)}
}

// ReadContext returns a context field in full.
func (a *Surface) ReadContext(ctx context.Context, field string) (wire.Field, error) {
	return as[wire.Field](a.s.do(ctx, a.ref, inspect{target{a.ref}, func(r *machine.Run) (any, error) {
		f, refused := r.Field(field)
		if refused != nil {
			return nil, refused
		}
		return f, nil
	}}))
}

// PutBlob stores a large value; a blob field refers to it by the digest with
// "sha256:" before it.
func (a *Surface) PutBlob(ctx context.Context, data []byte) (id.Digest, error) {
	return a.s.boards.PutBlob(ctx, a.p, data)
}

// Standing is the context block and the position as they are now.
func (a *Surface) Standing(ctx context.Context) (wire.Standing, error) {
	sum := a.summons
	return as[wire.Standing](a.s.do(ctx, a.ref, inspect{target{a.ref}, func(r *machine.Run) (any, error) {
		return r.Standing(sum.Agent, sum.Entry, sum.Attempt, sum.Generation), nil
	}}))
}
