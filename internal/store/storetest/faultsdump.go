package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/wire"
)

// dump is all that the database holds of the try's tenant, as text that is the same
// for every try: instants are counted from its beginning, and what is drawn at
// random is checked and left out.
func (w *world) dump() string {
	w.Helper()
	ctx := context.Background()
	rows, err := w.store.Boards(ctx, board.BoardQuery{Tenant: w.tenant, Limit: 100})
	w.must(err)
	var b strings.Builder
	blobs := map[id.Digest]bool{}
	if w.digest != "" {
		blobs[w.digest] = true
	}
	for _, row := range rows {
		tx, facts, err := w.store.Begin(ctx, []board.Want{{Ref: row.Ref}})
		w.must(err)
		m, err := tx.(store.MachineTx).LoadMachine(ctx, row.Ref)
		w.must(err)
		entries, head, err := tx.Entries(ctx, row.Ref, board.EntryQuery{Limit: 1000})
		w.must(err)
		w.must(tx.Rollback())
		if m.Found {
			blobs[m.Digest] = true
		}
		f := facts[0]
		f.Row.Rev = 0
		for i := range f.Outbox {
			if f.Outbox[i].Claim != "" {
				f.Outbox[i].Claim = "some"
			}
		}
		w.line(&b, "board", f)
		if head != f.Row.Head || len(entries) != int(head) {
			w.Fatalf("%d entries, the heads are %d and %d", len(entries), head, f.Row.Head)
		}
		for i, e := range entries {
			if e.Seq != id.Seq(i+1) {
				w.Fatalf("entry %d is number %d", i+1, e.Seq)
			}
			if e.Content != nil {
				if sum := sha256.Sum256(append(append([]byte(nil), e.Salt...), e.Content...)); e.Digest != id.Digest(hex.EncodeToString(sum[:])) {
					w.Fatalf("entry %d: its digest is not that of its content", e.Seq)
				}
			}
			e.Salt, e.Digest = nil, ""
			w.line(&b, "entry", e)
		}
		if m.Found {
			cp := m.Checkpoint
			m.Checkpoint, m.Source = nil, nil
			w.line(&b, "machine", m)
			if cp != nil {
				w.line(&b, "checkpoint", cp.Seq)
				w.line(&b, "body", json.RawMessage(cp.Body))
			}
		}
	}
	for _, d := range sorted(blobs) {
		data, err := w.store.Blob(ctx, w.tenant, d)
		w.must(err)
		fmt.Fprintf(&b, "blob %s: %v\n", d, data != nil)
	}
	return b.String()
}

func sorted(set map[id.Digest]bool) []id.Digest {
	var out []id.Digest
	for d := range set {
		out = append(out, d)
	}
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// line writes one row.
func (w *world) line(b *strings.Builder, what string, v any) {
	w.Helper()
	text, err := json.Marshal(v)
	w.must(err)
	s := strings.ReplaceAll(string(text), string(w.tenant), "tenant")
	s = instants.ReplaceAllStringFunc(s, func(at string) string {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil || when.IsZero() {
			return "never"
		}
		return "@" + when.Sub(w.begun.Truncate(time.Microsecond)).String() + "@"
	})
	fmt.Fprintf(b, "%s %s\n", what, s)
}

var offsets = regexp.MustCompile(`@[^@]*@`)

// alike compares two dumps, without their instants when the clock did not run alike.
func alike(a, b string, shifted bool) bool {
	if shifted {
		a, b = offsets.ReplaceAllString(a, "@"), offsets.ReplaceAllString(b, "@")
	}
	return a == b
}

// view asks how a board stands, through whatever the writer holds of it.
type view struct{ ref id.Ref }

func (v view) Wants() []board.Want { return []board.Want{{Ref: v.ref}} }

func (v view) Decide(t *control.Turn) (any, error) {
	st := t.Board(v.ref)
	due, at := st.Due(t.Now)
	return jsonOf(st.View()) + jsonOf(st.Row()) + fmt.Sprintf(" due %v %v", due, at), nil
}

// agree compares what a process holds of every board with what a fresh one reads,
// and verifies the machines.
func (w *world) agree(p *process) {
	w.Helper()
	ctx := context.Background()
	rows, err := w.store.Boards(ctx, board.BoardQuery{Tenant: w.tenant, Limit: 100})
	w.must(err)
	fresh := w.process()
	for _, row := range rows {
		held, read := w.ask(p, row.Ref), w.ask(fresh, row.Ref)
		if held != read {
			w.Fatalf("the writer holds\n%s\nand a fresh one reads\n%s", held, read)
		}
	}
}

// ask is how a process sees a board and the machine on it.
func (w *world) ask(p *process, ref id.Ref) string {
	w.Helper()
	ctx := context.Background()
	text, _, err := p.writer.Do(ctx, ref.Tenant, view{ref})
	w.must(err)
	out := text.(string)
	if !strings.Contains(out, `"owner"`) {
		return out
	}
	claimed, err := p.machines.Claim(ctx, p.by("reader"), ref.Board, "reader", nil)
	w.must(err)
	out += jsonOf(claimed)
	for _, name := range []string{"ann", "bob"} {
		sum := wire.Summons{Agent: name, Entry: 1, Attempt: 1, Generation: 1}
		if w.summons != nil && w.summons.Agent == name {
			sum = *w.summons
		}
		s := p.machines.Surface(p.by(name), ref.Board, &sum)
		standing, err := s.Standing(ctx)
		w.must(err)
		out += jsonOf(standing)
	}
	sum := wire.Summons{Agent: "ann"}
	for _, field := range []string{"task", "notes", "votes", "verdict"} {
		f, err := p.machines.Surface(p.by("ann"), ref.Board, &sum).ReadContext(ctx, field)
		w.must(err)
		out += jsonOf(f)
	}
	verified, err := p.machines.Verify(ctx, p.by("reader"), ref.Board)
	w.must(err)
	return out + jsonOf(verified)
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return "\n" + string(text)
}
