package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/slate-agents/slate/refusal"
)

// Limits bounds a content value at the boundary, before the board sees it. A zero
// field means no limit of that kind.
type Limits struct {
	// Bytes is the most bytes a value may have, white space included.
	Bytes int
	// Depth is how deep arrays and objects may nest: 1 is an array of scalars.
	// Nesting beyond 10,000 is refused whatever it says.
	Depth int
	// Members is the most members of one object or elements of one array.
	Members int
	// Values is the most values in all: each scalar, array and object counts one,
	// names count none.
	Values int
}

// DefaultLimits are the limits of content where nothing else is configured.
var DefaultLimits = Limits{Bytes: 1 << 20, Depth: 100, Members: 10_000, Values: 100_000}

// CheckContent is DefaultLimits.Check.
func CheckContent(ref string, content json.RawMessage) *refusal.Refusal {
	return DefaultLimits.Check(ref, content)
}

// maxDepth is where the reader itself stops.
const maxDepth = 10_000

// decoders are reused: one costs more to make than a small value costs to read.
var decoders = sync.Pool{New: func() any { return &checker{dec: jsontext.NewDecoder(new(bytes.Buffer))} }}

type checker struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

// Check returns nil when content is one JSON value that can be kept as it is, and
// otherwise the refusal that names the limit and the place. ref is the name of the
// value in messages ("content", "value"); the refusal's Ref begins with it.
//
// TOO_LARGE: more than the limits allow; Detail holds "limit" (the field's name),
// "most" and "got", where got may be a lower bound.
// INVALID_CONTENT: empty, not JSON, more than one value, a name given twice in an
// object, text that is not UTF-8, an unpaired surrogate, or a NUL character, raw or
// escaped, which some stores cannot keep.
//
// The size is looked at first, so that a value far beyond it costs nothing; the
// rest is one pass without recursion.
func (l Limits) Check(ref string, content json.RawMessage) *refusal.Refusal {
	if ref == "" {
		ref = "$"
	}
	if l.Bytes > 0 && len(content) > l.Bytes {
		return tooLarge(ref, "bytes", l.Bytes, len(content), "has %d bytes", len(content)).
			WithFix("send a smaller value, or store it as a blob and send its digest")
	}
	if at := bytes.IndexByte(content, 0); at >= 0 {
		return refusal.New(refusal.InvalidContent, ref, "%s has a NUL character at byte %d", ref, at).
			WithFix("leave NUL characters out, or encode the value as base64")
	}
	c := decoders.Get().(*checker)
	defer func() {
		c.buf = bytes.Buffer{} // keep nothing of the caller's
		c.dec.Reset(&c.buf)
		decoders.Put(c)
	}()
	c.buf = *bytes.NewBuffer(content)
	c.dec.Reset(&c.buf)
	return l.scan(c.dec, ref, bytes.Contains(content, escapedNUL))
}

var escapedNUL = []byte(`\u0000`)

// scan reads one value and the end of the text. nul says that the text may hold an
// escaped NUL.
func (l Limits) scan(dec *jsontext.Decoder, ref string, nul bool) *refusal.Refusal {
	depthMost := maxDepth
	if l.Depth > 0 && l.Depth < maxDepth {
		depthMost = l.Depth
	}
	values := 0
	for {
		kind := dec.PeekKind()
		// The reader's own depth limit would give a message that names no limit.
		if depth := dec.StackDepth(); (kind == '{' || kind == '[') && depth == depthMost {
			place := placeOf(dec, ref, dec.StackPointer())
			return tooLarge(place, "depth", depthMost, depth+1, "nests deeper than %d", depthMost).
				WithFix("flatten the value, or store it as a blob")
		}
		tok, err := dec.ReadToken()
		if err != nil {
			place, what, fix := syntaxError(dec, ref, err)
			return refusal.New(refusal.InvalidContent, place, "%s", what).WithFix("%s", fix)
		}
		if nul && kind == '"' && bytes.IndexByte([]byte(tok.String()), 0) >= 0 {
			place := placeOf(dec, ref, dec.StackPointer())
			return refusal.New(refusal.InvalidContent, place, "%s has an escaped NUL character", place).
				WithFix("leave NUL characters out, or encode the value as base64")
		}
		depth := dec.StackDepth()
		if kind != '}' && kind != ']' {
			parent := depth
			if kind == '{' || kind == '[' {
				parent--
			}
			in, length := dec.StackIndex(parent)
			name := in == '{' && length%2 == 1
			if !name {
				values++
				if l.Values > 0 && values > l.Values {
					return tooLarge(ref, "values", l.Values, values, "holds more than %d values", l.Values).
						WithFix("split it, or store it as a blob")
				}
			}
			count := int(length)
			if in == '{' {
				count = (count + 1) / 2
			}
			if l.Members > 0 && parent > 0 && count > l.Members {
				place := parentOf(dec, ref)
				return tooLarge(place, "members", l.Members, count, "has more than %d %s", l.Members, plural(in)).
					WithFix("split it, or store it as a blob")
			}
		}
		if depth == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return refusal.New(refusal.InvalidContent, ref, "%s goes on after its value ends, at byte %d", ref, dec.InputOffset()).
			WithFix("send one JSON value")
	}
	return nil
}

// parentOf is the place of the array or object that holds the last token.
func parentOf(dec *jsontext.Decoder, ref string) string {
	return placeOf(dec, ref, dec.StackPointer().Parent())
}

func plural(kind jsontext.Kind) string {
	if kind == '[' {
		return "elements"
	}
	return "members"
}

// tooLarge refuses a value for one limit.
func tooLarge(place, limit string, most, got int, format string, args ...any) *refusal.Refusal {
	r := refusal.New(refusal.TooLarge, place, "%s "+format, append([]any{place}, args...)...)
	r.Message += "; the limit of " + limit + " is " + strconv.Itoa(most)
	return r.With("limit", limit).With("most", most).With("got", got)
}
