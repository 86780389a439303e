package machine

import (
	"strings"
	"testing"
	"time"
)

func TestBlock(t *testing.T) {
	var context strings.Builder
	for i := range 30 {
		context.WriteString("    f" + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ": { type: string }\n")
	}
	b := open(t, load(t, machineOf(context.String()+"    l: { type: list, of: string }\n    m: { type: map, of: string }\n", `    s:
      requires: [ { name: m, from: { agent: b } }, { name: l, from: { agent: a }, required: false } ]
      transitions: [ { toState: end } ]
`)))
	b.claim("a")
	b.must("a", "fa", strings.Repeat("é", 312)+"\nstatus: solved")
	if got, want := b.run.Block(), "fa: "+strings.Repeat("é", 300)+" …[+27 characters]"; got != want {
		t.Errorf("got %q", got)
	}
	b.must("a", "fb", "one\nstatus: solved")
	b.must("a", "l", "one\ntwo")
	for range 100 {
		b.must("a", "l", strings.Repeat("w", 9)+time.Duration(b.counter).String())
	}
	if got := b.run.Block(); !strings.Contains(got, "fb: one\n  status: solved\nl:\n  one\n    two\n  wwwwwwwww") || !strings.Contains(got, " characters]") {
		t.Errorf("got %q", got)
	}
	cut := 0
	for i := range b.run.cells {
		c := &b.run.cells[i]
		if text, more := c.capped(10); c.field.Name == "l" {
			if whole := c.text(); !strings.HasPrefix(whole, text) || len(whole) != len(text)+more {
				t.Errorf("capped %q +%d of %d", text, more, len(whole))
			}
			cut++
		}
	}
	for i := range 28 {
		b.must("a", b.def.Fields[i].Name, strings.Repeat("v", 301))
	}
	block := b.run.Block()
	if len(block) > BlockBudget || cut != 1 || !strings.Contains(block, "fa: "+strings.Repeat("v", 80)+" …[+221 characters]") {
		t.Errorf("%d characters: %q", len(block), block[:200])
	}
	if f, _ := b.run.Field("fa"); len(f.Value) != 303 {
		t.Error("a read call cuts")
	}
	b.check()
}
