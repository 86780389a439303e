package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
)

// MaxInteger is the largest magnitude of an integer: beyond 2^53 JSON readers
// disagree about the value.
const MaxInteger = 1 << 53

// blobPrefix begins the value of a blob field; 64 hexadecimal digits follow.
const blobPrefix = "sha256:"

// scalar is one typed value, in the form guards read it. The zero scalar is absent.
type scalar struct{ v ref.Val }

func (s scalar) present() bool { return s.v != nil }

// zero is what a guard reads where a field of the type is absent.
func zero(t Type) ref.Val {
	switch t {
	case Number:
		return types.Double(0)
	case Integer:
		return types.Int(0)
	case Boolean:
		return types.False
	}
	return types.String("")
}

// json is the canonical JSON of the value: equal values have equal bytes.
func (s scalar) json() json.RawMessage {
	switch v := s.v.(type) {
	case types.String:
		return quote(string(v))
	case types.Int:
		return strconv.AppendInt(nil, int64(v), 10)
	case types.Double:
		return encode(float64(v))
	case types.Bool:
		return strconv.AppendBool(nil, bool(v))
	}
	return json.RawMessage("null")
}

// text is the value as objectives and context blocks show it.
func (s scalar) text() string {
	if v, ok := s.v.(types.String); ok {
		return string(v)
	}
	return string(s.json())
}

// blobs are the content-addressed values that a value of the type refers to.
func (s scalar) blobs(t Type) []id.Digest {
	if v, ok := s.v.(types.String); ok && t == Blob {
		return []id.Digest{id.Digest(strings.TrimPrefix(string(v), blobPrefix))}
	}
	return nil
}

// coerce reads a JSON value as one value of the field: the value of a scalar, an
// element of a list or the value of a map entry. It applies the type, not validate.
func coerce(f *Field, raw json.RawMessage) (scalar, *refusal.Refusal) {
	raw = bytes.TrimSpace(raw)
	want := f.Element()
	wrong := func(why string) (scalar, *refusal.Refusal) {
		r := refusal.New(refusal.WrongType, f.Name, "field %q takes %s: %s", f.Name, article(want), why)
		switch {
		case f.Type == List:
			r = r.WithFix("send one element of the list at a time, %s", article(want))
		case f.Type == Map:
			r = r.WithFix("send the value of your own entry, %s", article(want))
		default:
			r = r.WithFix("send %s", article(want))
		}
		return scalar{}, r.With("type", string(want))
	}
	kind, ok := jsonKind(raw)
	if !ok {
		return wrong("the value is not valid JSON")
	}
	switch want {
	case String, Enum, Blob:
		if kind != "a string" {
			return wrong("the value is " + kind)
		}
		text, err := unquote(raw)
		if err != nil {
			return wrong(err.Error())
		}
		if want == Enum && !slices.Contains(f.Values, text) {
			return scalar{}, refusal.New(refusal.NotInEnum, f.Name, "field %q takes one of %s: the value is %q",
				f.Name, strings.Join(f.Values, ", "), clip(text)).
				WithFix("send one of %s", strings.Join(f.Values, ", ")).With("values", f.Values)
		}
		if want == Blob && !isBlob(text) {
			return wrong("the value is not sha256: and 64 hexadecimal digits")
		}
		return scalar{types.String(text)}, nil
	case Boolean:
		if kind != "a boolean" {
			return wrong("the value is " + kind)
		}
		return scalar{types.Bool(raw[0] == 't')}, nil
	case Integer:
		if kind != "a number" {
			return wrong("the value is " + kind)
		}
		n, err := integer(string(raw))
		if err != nil {
			return wrong(err.Error())
		}
		return scalar{types.Int(n)}, nil
	}
	if kind != "a number" {
		return wrong("the value is " + kind)
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(x, 0) {
		return wrong("the value is beyond a 64-bit floating-point number")
	}
	if x == 0 {
		x = 0 // minus zero equals zero, so it is written as zero
	}
	return scalar{types.Double(x)}, nil
}

// jsonKind names the kind of a JSON text, or says that it is not valid JSON.
func jsonKind(raw []byte) (string, bool) {
	if len(raw) == 0 || !json.Valid(raw) {
		return "", false
	}
	switch raw[0] {
	case '"':
		return "a string", true
	case '{':
		return "an object", true
	case '[':
		return "an array", true
	case 't', 'f':
		return "a boolean", true
	case 'n':
		return "null", true
	}
	return "a number", true
}

// integer reads a JSON number that is a whole number within 2^53; 1.0 and 1e3 are.
func integer(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < -MaxInteger || n > MaxInteger {
			return 0, fmt.Errorf("the value is beyond 2^53")
		}
		return n, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || x < -MaxInteger || x > MaxInteger:
		return 0, fmt.Errorf("the value is beyond 2^53")
	case x != math.Trunc(x) || !whole(text):
		return 0, fmt.Errorf("the value has a fraction")
	}
	return int64(x), nil
}

// whole says whether the decimal digits of a JSON number, as opposed to the
// nearest float, denote a whole number: 9007199254740991.5 rounds to one.
func whole(text string) bool {
	text = strings.TrimPrefix(text, "-")
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		n, err := strconv.Atoi(text[i+1:])
		if err != nil {
			n = 1 << 30 // too many digits for an exponent
			if strings.HasPrefix(text[i+1:], "-") {
				n = -n
			}
		}
		exponent = n
	}
	_, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if fraction != "" {
		return exponent >= len(fraction)
	}
	digits := strings.TrimRight(strings.ReplaceAll(mantissa, ".", ""), "0")
	if digits == "" || exponent >= 0 {
		return true
	}
	integral, _, _ := strings.Cut(mantissa, ".")
	return len(integral)-len(strings.TrimRight(integral, "0")) >= -exponent
}

// unquote reads a JSON string strictly: an unpaired surrogate or bytes that are
// not UTF-8 are errors, where the standard reader replaces them.
func unquote(raw []byte) (string, error) {
	if !utf8.Valid(raw) {
		return "", fmt.Errorf("the string is not valid UTF-8")
	}
	if !bytes.ContainsRune(raw, '\\') {
		return string(raw[1 : len(raw)-1]), nil
	}
	for i := 1; i < len(raw)-1; i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		unit := hex4(raw[i+1:])
		i += 4
		switch {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return "", fmt.Errorf("the string has an unpaired surrogate")
		case unit >= 0xD800 && unit <= 0xDBFF:
			if i+6 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
				return "", fmt.Errorf("the string has an unpaired surrogate")
			}
			if low := hex4(raw[i+3:]); low < 0xDC00 || low > 0xDFFF {
				return "", fmt.Errorf("the string has an unpaired surrogate")
			}
			i += 6
		}
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("the value is not a JSON string")
	}
	return text, nil
}

func hex4(b []byte) int {
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// quote is the JSON form of a string, without HTML escapes.
func quote(s string) json.RawMessage {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return encode(s)
		}
	}
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}

// isBlob says whether text names a content-addressed value.
func isBlob(text string) bool {
	digits, ok := strings.CutPrefix(text, blobPrefix)
	if !ok || len(digits) != 64 {
		return false
	}
	for _, c := range []byte(digits) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// article is a type's name in a sentence.
func article(t Type) string {
	switch t {
	case Integer:
		return "an integer"
	case Enum:
		return "an enum word"
	case Blob:
		return "a blob reference"
	}
	return "a " + string(t)
}

// clip shortens text for a message.
func clip(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
