package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/refusal"
)

// body exercises every shape that Decode knows.
type body struct {
	Name   string            `json:"name"`
	Count  int8              `json:"count,omitempty"`
	Ratio  float64           `json:"ratio,omitempty"`
	On     bool              `json:"on,omitempty"`
	At     time.Time         `json:"at,omitzero"`
	Bytes  []byte            `json:"bytes,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Parts  []part            `json:"parts,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Next   *body             `json:"next,omitempty"`
	Any    any               `json:"any,omitempty"`
	Page
}

type part struct {
	Region string `json:"region"`
	N      int64  `json:"n"`
}

func TestDecodeFillsEveryShape(t *testing.T) {
	in := `{"name":"a","count":-7,"ratio":1.5e2,"on":true,"at":"2026-01-02T15:04:05Z","bytes":"aGk=",
		"raw": {"b" : 1, "a":[ 1.0,2 ]} ,"parts":[{"region":"x","n":1},{"n":2,"region":"y"},{"n":3,"region":"z"},
		{"n":4,"region":"p"},{"n":5,"region":"q"}],"labels":{"k":"v"},"next":{"name":"b","raw":null},"any":[1],"cursor":"c","limit":3}`
	var got, want body
	if err := Decode([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(in), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if raw := `{"b" : 1, "a":[ 1.0,2 ]}`; string(got.Raw) != raw {
		t.Errorf("raw content: got %s, want it verbatim: %s", got.Raw, raw)
	}
	if string(got.Next.Raw) != "null" {
		t.Errorf("raw null: got %q", got.Next.Raw)
	}
}

func TestDecodeKeepsNothingOfTheInput(t *testing.T) {
	in := []byte(`{"name":"abc","raw":{"k":"v"}}`)
	var got body
	if err := Decode(in, &got); err != nil {
		t.Fatal(err)
	}
	for i := range in {
		in[i] = 'x'
	}
	if got.Name != "abc" || string(got.Raw) != `{"k":"v"}` {
		t.Errorf("the body changed with its input: %q %s", got.Name, got.Raw)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, ref, says, fix string }{
		{"unknown field", `{"name":"a","nmae":"b"}`, "$.nmae", "is not a field here", "the fields are name, count"},
		{"unknown field inside", `{"name":"a","parts":[{"region":"x","n":1,"m":2}]}`, "$.parts[0].m", "is not a field here", "the fields are region, n"},
		{"letter case", `{"Name":"a"}`, "$.Name", "is not a field here", "name"},
		{"missing", `{"count":1}`, "$.name", "is missing", `send "name", a string`},
		{"missing inside", `{"name":"a","parts":[{"region":"x","n":1},{"region":"y"}]}`, "$.parts[1].n", "is missing", "whole number"},
		{"missing in a pointer", `{"name":"a","next":{}}`, "$.next.name", "is missing", "a string"},
		{"duplicate", `{"name":"a","name":"b"}`, "$.name", "given twice", "once"},
		{"duplicate by escape", `{"name":"a","n\u0061me":"b"}`, "$.name", "given twice", "once"},
		{"duplicate in content", `{"name":"a","raw":{"k":1,"k":2}}`, "$.raw.k", "given twice", "once"},
		{"null string", `{"name":null}`, "$.name", "is null", "a string"},
		{"null time", `{"name":"a","at":null}`, "$.at", "is null", "a time such as"},
		{"wrong type", `{"name":7}`, "$.name", "is a number", "a string"},
		{"object for string", `{"name":{"a":1}}`, "$.name", "is an object", "a string"},
		{"array for object", `[1]`, "$", "is an array", "an object"},
		{"object for array", `{"name":"a","parts":{}}`, "$.parts", "is an object", "an array"},
		{"string for bool", `{"name":"a","on":"yes"}`, "$.on", "is a string", "true or false"},
		{"overflow", `{"name":"a","count":300}`, "$.count", "is 300", "8 bits"},
		{"fraction", `{"name":"a","parts":[{"region":"x","n":1.5}]}`, "$.parts[0].n", "is 1.5", "whole number"},
		{"exponent", `{"name":"a","count":1e1}`, "$.count", "is 1e1", "plain digits"},
		{"float range", `{"name":"a","ratio":1e999}`, "$.ratio", "out of range", "smaller"},
		{"bad time", `{"name":"a","at":"yesterday"}`, "$.at", "cannot be read", "2026-01-02T15:04:05Z"},
		{"bad base64", `{"name":"a","bytes":"a"}`, "$.bytes", "is not base64", "standard base64"},
		{"trailing", `{"name":"a"} x`, "$", "goes on", "one JSON value"},
		{"second value", `{"name":"a"}{}`, "$", "goes on", "one JSON value"},
		{"empty", ``, "$", "is empty", "one JSON value"},
		{"blank", "  \n", "$", "is empty", "one JSON value"},
		{"cut short", `{"name":"a"`, "$", "ends at byte", "complete"},
		{"not json", `name=a`, "$", "is not valid JSON", "one JSON value"},
		{"bad utf8", "{\"name\":\"a\xff\"}", "$.name", "invalid UTF-8", "UTF-8"},
		{"lone surrogate", `{"name":"\ud800"}`, "$.name", "surrogate", "UTF-8"},
		{"lone surrogate in content", `{"name":"a","raw":["\udc00"]}`, "$.raw[0]", "surrogate", "UTF-8"},
		{"odd name", `{"name":"a","x y":1}`, `$["x y"]`, "is not a field here", "name"},
		{"long name", `{"name":"a","` + strings.Repeat("z", 500) + `":1}`, `$["` + strings.Repeat("z", 64) + `…"]`, "is not a field", "name"},
		{"too deep", `{"name":"a","raw":` + strings.Repeat("[", 100_000), "", "depth", "one JSON value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got body
			r, ok := refusal.As(Decode([]byte(c.in), &got))
			if !ok {
				t.Fatal("not refused")
			}
			if r.Code != refusal.InvalidRequest {
				t.Errorf("code %s", r.Code)
			}
			if c.ref != "" && r.Ref != c.ref {
				t.Errorf("ref %q, want %q", r.Ref, c.ref)
			}
			if !strings.Contains(r.Message, c.says) || !strings.Contains(r.Fix, c.fix) {
				t.Errorf("%v; want the message to say %q and the fix %q", r, c.says, c.fix)
			}
			if len(r.Message) > 400 {
				t.Errorf("the message has %d bytes", len(r.Message))
			}
		})
	}
}

func TestDecodeIntoWhatCannotBeDecodedIsADefect(t *testing.T) {
	type chans struct {
		C chan int `json:"c"`
	}
	for _, into := range []any{nil, body{}, (*body)(nil), &chans{}, &chans{}} {
		err := Decode([]byte(`{}`), into)
		if _, refused := refusal.As(err); err == nil || refused {
			t.Errorf("into %T: %v, want a defect", into, err)
		}
	}
}

// TestDecodeReadsEveryBody holds the rule of the package: what one half encodes the
// other decodes, whatever the body.
func TestDecodeReadsEveryBody(t *testing.T) {
	for _, body := range []any{
		&LevelWrite{Region: "r", Content: json.RawMessage(`[1]`)},
		&PremiseWrite{Region: "r"}, &Acknowledge{}, &Result{Written: &Written{Seq: 1}},
		&Result{Rejection: &Rejection{Cause: refusal.RunClosed, Outcome: &Outcome{}}},
		&PremiseState{}, &Entries{}, &Entries{Entries: []Entry{{Erased: &Erasure{}}}}, &Region{Window: time.Second},
		&Notification{}, &Summons{Requirements: []Requirement{{}}, Tools: []Tool{{InputSchema: json.RawMessage(`{}`)}}},
		&UpdateContext{Value: json.RawMessage(`null`)}, &Updated{}, &Field{Value: json.RawMessage(`null`)},
		&ReadContext{}, &ReadRegion{Page: Page{Limit: 1}}, &Call{}, &Standing{}, &Graph{},
		&CallResult{Refusal: refusal.New(refusal.Conflict, "r", "m").With("current", 1)},
		&Wrote{}, &Regions{}, &ReadPremise{}, &PutBlob{Base64: []byte("x")}, &Stored{}, &Stands{},
	} {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		into := reflect.New(reflect.TypeOf(body).Elem()).Interface()
		if err := Decode(data, into); err != nil {
			t.Errorf("%T: %v\n%s", body, err, data)
			continue
		}
		again, err := json.Marshal(into)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%T: %s became %s (%v)", body, data, again, err)
		}
	}
}

// FuzzDecode compares Decode with encoding/json, which is laxer: what Decode takes
// encoding/json takes too, with the same outcome, and a second trip changes nothing.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"region":"r","content":{"a":[1,2,{"b":null}]},"key":"k","blobs":["x"]}`,
		`{"region":"r","expect":3,"content":"x","attempt":"a"}`,
		`{"field":"facts","value":"é\u00e9","key":"k"}`,
		`{"id":1,"call":"updateContext","with":{"field":"f","value":1}}`,
		`{"region":"r","cursor":"c","limit":1}`, `{"base64":"aGk="}`,
		`{"name":"a","parts":[{"region":"x","n":1}],"labels":{"k":"v"},"next":{"name":"b"},"any":1,"at":"2026-01-02T15:04:05Z"}`,
		`null`, `[]`, `{`, `{"field":null}`, `{"call":"a","call":"b"}`, "{\"call\":\"\xff\"}", `{"call":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, zero := range []any{
			LevelWrite{}, PremiseWrite{}, UpdateContext{}, Call{}, CallResult{}, ReadRegion{}, PutBlob{}, Summons{}, body{},
		} {
			into := reflect.New(reflect.TypeOf(zero)).Interface()
			if err := Decode(data, into); err != nil {
				r, ok := refusal.As(err)
				if !ok {
					t.Fatalf("%T: a defect: %v", zero, err)
				}
				if r.Ref == "" || r.Fix == "" || r.Code != refusal.InvalidRequest {
					t.Fatalf("%T: a refusal without place or fix: %#v", zero, r)
				}
				continue
			}
			std := reflect.New(reflect.TypeOf(zero)).Interface()
			lax := json.NewDecoder(bytes.NewReader(data))
			lax.DisallowUnknownFields()
			if err := lax.Decode(std); err != nil {
				t.Fatalf("%T: Decode took what encoding/json refuses: %v", zero, err)
			}
			if !reflect.DeepEqual(into, std) {
				t.Fatalf("%T: Decode %+v, encoding/json %+v", zero, into, std)
			}
			again, err := json.Marshal(into)
			if err != nil {
				t.Fatal(err)
			}
			if err := Decode(again, reflect.New(reflect.TypeOf(zero)).Interface()); err != nil {
				t.Fatalf("%T: the second trip: %v\n%s", zero, err, again)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"id":17,"call":"updateContext","with":{"field":"facts","value":"connections reached 100 of 100 at 12:00:05"}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var c Call
		if err := Decode(data, &c); err != nil {
			b.Fatal(err)
		}
	}
}
