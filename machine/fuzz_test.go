package machine

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzLoad: any bytes load, or are refused with places and words, never a panic;
// and what loads opens.
func FuzzLoad(f *testing.F) {
	base, err := os.ReadFile("testdata/base.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(base)
	f.Add(incident(f).Source())
	f.Add([]byte(rich))
	for _, e := range edits {
		f.Add([]byte(strings.Replace(string(base), e.old, e.new, 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Load("fuzz.yaml", data)
		if err != nil {
			var bad *LoadError
			if !errors.As(err, &bad) || len(bad.Problems) == 0 {
				t.Fatalf("error %v", err)
			}
			for _, p := range bad.Problems {
				if p.Message == "" || p.Line < 0 || strings.Contains(p.String(), "\n") && !strings.ContainsAny(string(data), "\n\r\u0085\u2028\u2029\\\"") {
					t.Fatalf("problem %q", p.String())
				}
			}
			return
		}
		b := open(t, d)
		b.check()
		d.Graph()
		for _, a := range d.Agents {
			b.run.Summons(a.Name)
		}
	})
}

// FuzzWrite: any bytes as a value are taken or refused; what is taken is valid JSON
// that reads back as itself, and the run still folds and verifies.
func FuzzWrite(f *testing.F) {
	d := load(f, machineOf(`    string: { type: string }
    number: { type: number }
    integer: { type: integer }
    boolean: { type: boolean }
    enum: { type: enum, values: [p, q] }
    blob: { type: blob }
    list: { type: list, of: string }
    numbers: { type: list, of: number }
    map: { type: map, of: integer }
    never: { type: string }
`, `    s:
      requires: [ { name: never, from: { agent: b } }, { name: list, from: { agent: a }, required: false } ]
      transitions: [ { toState: end } ]
`))
	for _, v := range []string{`"p"`, `"\ud800\udc00"`, `"\ud800"`, `"\udc00"`, "1", "-0", "1.0", "1.5e1", "15e-1", "1e400", "9007199254740992", "9007199254740991.5",
		"true", "null", "[]", "{}", "", " 1 ", `"` + "\u2028" + `"`, `"\u0000"`, "0.1e1", "100e-2", "1e-400", "1E999999999999999999999", `"sha256:` + strings.Repeat("0a", 32) + `"`} {
		f.Add([]byte(v), "key")
	}
	f.Fuzz(func(t *testing.T, value []byte, key string) {
		b := open(t, d)
		b.claim("a")
		for i := range d.Fields {
			name := d.Fields[i].Name
			for _, k := range []string{"", key} {
				no := b.writeKey("a", name, k, json.RawMessage(value))
				if no != nil {
					if no.Message == "" || no.Code == "" {
						t.Fatalf("%+v", no)
					}
					continue
				}
				content := b.last.Records
				if len(content) == 0 {
					continue
				}
				var v any
				if err := json.Unmarshal(content[0].Content, &v); err != nil {
					t.Fatalf("%s: content %q: %v", name, content[0].Content, err)
				}
			}
			full, _ := b.run.Field(name)
			if !json.Valid(full.Value) {
				t.Fatalf("%s: value %q", name, full.Value)
			}
		}
		b.check()
	})
}
