package boardtest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var content = []sentence{
	{"content is kept byte for byte", func(t *testing.T, r *rig) {
		r.create()
		texts := []string{
			`null`, `true`, `0`, `-0`, `1.0`, `1e400`, `0.1000`, `123456789012345678901234567890`, `""`, `" "`, " 1\n", "\t{ \"b\" : 1 ,\r\n \"a\" : [ ] }  ",
			`"\u00e9\u0041\/\b"`, `"é"`, `"\ud83d\ude80🚀"`, "\"\u2028\u2029<&>\"", `{"":{"":[[[]]]}}`, `"\\u0000"`, `"x'00'"`, `"%s ? $1 :p"`,
			strings.Repeat("[", 100) + strings.Repeat("]", 100), `"` + strings.Repeat("long ", 100_000) + `"`,
		}
		for i, text := range texts {
			r.level("a", "facts", text)
			r.premise("a", "window", id.Version(i), text)
			p, err := r.s.Premise(r.ctx, by("a"), name, "window")
			r.ok(err)
			if string(p.Value) != text {
				t.Fatalf("the premise reads %.80q, written was %.80q", p.Value, text)
			}
		}
		for i, e := range r.again().changes() {
			if want := texts[i/2]; string(e.Content) != want {
				t.Fatalf("entry %d reads %.80q, written was %.80q", e.Seq, e.Content, want)
			}
		}
	}},
	{"a caller that uses its buffer again changes nothing on the record", func(t *testing.T, r *rig) {
		r.create()
		buf := []byte(`"one"`)
		_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: buf})
		r.ok(err)
		_, err = r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: buf})
		r.ok(err)
		copy(buf, `"two"`)
		for _, e := range r.changes() {
			equal(t, "content", string(e.Content), `"one"`)
		}
	}},
	{"content beyond the limits or not JSON is refused and nothing is stored", func(t *testing.T, r *rig) {
		r.create()
		keys := func(n int) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(`,"` + strconv.Itoa(i) + `":0`)
			}
			return `{"first":0` + b.String() + `}`
		}
		for _, c := range []struct {
			what, text string
			code       refusal.Code
		}{
			{"empty", ``, refusal.InvalidContent}, {"blank", ` `, refusal.InvalidContent}, {"not JSON", `hello`, refusal.InvalidContent},
			{"two values", `1 2`, refusal.InvalidContent}, {"a NUL", "\"a\x00\"", refusal.InvalidContent},
			{"an escaped NUL", `"a\u0000"`, refusal.InvalidContent}, {"half a surrogate pair", `"\ud800"`, refusal.InvalidContent},
			{"bytes that are no text", "\"\xff\"", refusal.InvalidContent}, {"a name twice", `{"a":1,"a":2}`, refusal.InvalidContent},
			{"100 MB", `"` + strings.Repeat("x", 100<<20) + `"`, refusal.TooLarge},
			{"depth 101", strings.Repeat("[", 101) + strings.Repeat("]", 101), refusal.TooLarge},
			{"depth 100,000", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), refusal.TooLarge},
			{"a million keys", keys(1_000_000), refusal.TooLarge}, {"10,001 keys", keys(10_000), refusal.TooLarge},
			{"100,001 elements", `[0` + strings.Repeat(",0", 100_000) + `]`, refusal.TooLarge},
		} {
			text := raw(c.text)
			_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: text, Key: "k"})
			if refusal.CodeOf(err) != c.code {
				t.Fatalf("level with %s: %.200v, want %s", c.what, err, c.code)
			}
			_, err = r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: text, Key: "k"})
			if refusal.CodeOf(err) != c.code {
				t.Fatalf("premise with %s: %.200v, want %s", c.what, err, c.code)
			}
			_, err = r.s.Create(r.ctx, by("a"), defaults(wire.CreateBoard{Board: "other",
				Opening: []wire.Opening{{Region: "window", Content: text}}}), board.Callables{})
			if refusal.CodeOf(err) != c.code {
				t.Fatalf("opening value with %s: %.200v, want %s", c.what, err, c.code)
			}
		}
		equal(t, "head", r.show().Head, 0)
		_, err := r.s.Show(r.ctx, by("a"), "other")
		r.refused(err, refusal.UnknownBoard)
	}},
	{"a name that no store would keep is refused", func(t *testing.T, r *rig) {
		r.create()
		for _, bad := range []string{"", strings.Repeat("x", id.MaxName+1), "a\x00", "a\nb", "\x7f", " a", "a ", "\xff", "\u0085"} {
			fails := func(what string, err error) {
				t.Helper()
				if refusal.CodeOf(err) != refusal.InvalidRequest {
					t.Fatalf("%s %q: %v", what, bad, err)
				}
			}
			one := []wire.RegionDecl{{Name: "facts", Kind: wire.Level}}
			level := wire.LevelWrite{Region: "facts", Content: raw(`1`)}
			_, err := r.s.Create(r.ctx, by("a"), wire.CreateBoard{Board: id.Board(bad), Regions: one}, board.Callables{})
			fails("board", err)
			_, err = r.s.Create(r.ctx, by("a"), wire.CreateBoard{Board: "n", Regions: []wire.RegionDecl{{Name: bad, Kind: wire.Level}}}, board.Callables{})
			fails("region", err)
			_, err = r.s.Create(r.ctx, by("a"), wire.CreateBoard{Board: "n", Regions: one, Agents: []wire.AgentDecl{{Name: bad}}}, board.Callables{})
			fails("declared agent", err)
			_, err = r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: bad})
			fails("agent", err)
			_, err = r.s.WriteLevel(r.ctx, by(bad), name, level)
			fails("writer", err)
			_, err = r.s.WriteLevel(r.ctx, control.Principal{Tenant: id.Tenant(bad), Name: "a"}, name, level)
			fails("tenant", err)
			_, err = r.s.PutBlob(r.ctx, control.Principal{Tenant: id.Tenant(bad), Name: "a"}, []byte("x"))
			fails("tenant of a blob", err)
			if bad != "" { // then there is no key, and the writer has its default
				level.Key = bad
				_, err = r.s.WriteLevel(r.ctx, by("a"), name, level)
				fails("key", err)
				_, err = r.s.Create(r.ctx, by("a"), wire.CreateBoard{Board: "n", Regions: one, Writer: bad}, board.Callables{})
				fails("writer of the opening values", err)
			}
		}
		equal(t, "head", r.show().Head, 0)
		list, err := r.s.List(r.ctx, by("a"), wire.Page{})
		r.ok(err)
		equal(t, "boards", len(list.Boards), 1)
	}},
	{"a reason or address that no store would keep is refused", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		for _, bad := range []string{"\xff", "a\x00", strings.Repeat("x", 1<<20)} {
			_, err := r.s.Abort(r.ctx, by("a"), name, bad)
			r.refused(err, refusal.InvalidRequest)
			_, err = r.s.Erase(r.ctx, by("a"), name, wire.Erase{Seqs: []id.Seq{1}, Reason: bad})
			r.refused(err, refusal.InvalidRequest)
			_, err = r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: "x", Address: bad})
			r.refused(err, refusal.InvalidRequest)
		}
		if v := r.show(); v.Run == nil || len(v.Run.Agents) != 0 {
			t.Fatalf("%+v", v.Run)
		}
	}},
}
