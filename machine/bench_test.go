package machine

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/slate-agents/slate/id"
)

// six is a machine with six fields that goes round once every third write: list
// elements, a map entry and an enum with guards.
const six = `fsm:
  name: six
  version: 1
  initialState: gather
  context:
    incident: { type: string }
    facts:    { type: list, of: string, maxItems: 2000000000 }
    notes:    { type: map, of: string }
    score:    { type: number }
    count:    { type: integer }
    status:   { type: enum, values: [more, done] }
  agents:
    a: { canTransition: [gather, decide] }
  states:
    gather:
      description: "{{ context.incident }}"
      requires:
        - { name: facts, from: { agent: a }, required: false }
        - { name: notes, from: { agent: a } }
      transitions:
        - { toState: decide, guards: [ { expression: "size(context.facts) >= 0" } ] }
    decide:
      requires: [ { name: status, from: { agent: a } } ]
      transitions:
        - { toState: end, guards: [ { expression: "context.status == 'done'" } ] }
        - toState: gather
          guards: [ { expression: "context.status == 'more'" } ]
          onTransition: [ { remove: { notes: "*" } }, { assign: { status: "" } } ]
    end: { terminal: true }
  policy: { maxIterations: 2000000000 }
`

// filled is a run of six whose list has n elements.
func filled(b testing.TB, n int) *board {
	o := open(b, load(b, six))
	o.claim("a")
	for i := range n {
		o.must("a", "facts", fmt.Sprintf("fact number %d of the run", i))
	}
	return o
}

// BenchmarkStep measures one write of a six-field machine. append adds an element
// and takes no transition; round is a third of a round: an element, a map entry
// that closes the join, and a decision with two guards that clears two fields. Both
// are flat in the length of the list and of the history.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{0, 10000} {
		b.Run(fmt.Sprintf("append/list=%d", n), func(b *testing.B) {
			o := filled(b, n)
			r, s := o.run, o.run.rows[0]
			next := o.next()
			values := make([]json.RawMessage, b.N)
			for i := range values {
				values[i] = encode(fmt.Sprintf("new fact %d of the benchmark", i))
			}
			w := Write{Agent: "a", Entry: s.Entry, Attempt: s.Attempt, Generation: s.Generation, Field: "facts", IdemKey: "1/a/1/1"}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				w.Value = values[i]
				step, no := r.Write(w, next, start)
				if no != nil {
					b.Fatal(no)
				}
				next += id.Seq(len(step.Records))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
		b.Run(fmt.Sprintf("round/list=%d", n), func(b *testing.B) {
			o := filled(b, n)
			r, next := o.run, o.next()
			fields := []string{"facts", "notes", "status"}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				f := fields[i%3]
				if i%3 == 2 || r.rows[0].Status != Sent {
					step, _, no := r.Claim("a", start, time.Hour, "h", next)
					if no != nil {
						b.Fatal(no)
					}
					next += id.Seq(len(step.Records))
				}
				value := json.RawMessage(`"more"`)
				if f == "facts" {
					value = quote(fmt.Sprint("fact ", i))
				}
				s := &r.rows[0]
				step, no := r.Write(Write{Agent: "a", Entry: s.Entry, Attempt: s.Attempt, Generation: s.Generation, Field: f, Value: value}, next, start)
				if no != nil {
					b.Fatal(no)
				}
				next += id.Seq(len(step.Records))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// BenchmarkBlock measures the context block that every reply carries.
func BenchmarkBlock(b *testing.B) {
	for _, n := range []int{10, 10000} {
		b.Run(fmt.Sprintf("list=%d", n), func(b *testing.B) {
			r := filled(b, n).run
			b.ReportAllocs()
			for b.Loop() {
				r.Block()
			}
		})
	}
}

// BenchmarkFold measures loading a run from its record, an entry at a time.
func BenchmarkFold(b *testing.B) {
	o := filled(b, 10000)
	b.ResetTimer()
	for b.Loop() {
		r := New(o.def)
		for _, e := range o.entries {
			if err := r.Fold(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(o.entries)), "ns/entry")
}
