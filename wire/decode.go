package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/slate-agents/slate/refusal"
)

// Decode reads one JSON body into the struct that into points to, strictly. It
// refuses a field that the body does not have, a name given twice, a required
// field that is absent, null where there must be a value, a value of the wrong
// type, text that is not UTF-8, an unpaired surrogate, nesting beyond 10,000 and
// anything after the value. Names match exactly, letter case included.
//
// A field is required unless its tag says omitempty or omitzero. A json.RawMessage
// keeps its bytes as they came; a nil slice or map may be written as null. into
// should be zero: a field that the body leaves out is not touched. Nothing of data
// is kept.
//
// A body that is refused yields a *refusal.Refusal with code INVALID_REQUEST whose
// Ref is the place ("$.entries[3].region") and whose Fix says what to send; into
// may then be partly filled. Any other error means that into cannot be decoded
// into, which is a defect of the caller. The size of data is the caller's to limit.
func Decode(data []byte, into any) error { return DecodeAt("$", data, into) }

// DecodeAt is Decode for a body that is part of another one: root is its place
// there, with which the places in refusals begin ("$.with").
func DecodeAt(root string, data []byte, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("wire: cannot decode into %T: it must be a pointer that is not nil", into)
	}
	p, err := planOf(v.Type().Elem())
	if err != nil {
		return err
	}
	d := decoder{root: root, dec: jsontext.NewDecoder(bytes.NewBuffer(data))}
	if err := d.value(p, v.Elem()); err != nil {
		return refuse(root, data, err)
	}
	if _, err := d.dec.ReadToken(); err != io.EOF {
		return refusal.New(refusal.InvalidRequest, root, "%s goes on after its value ends, at byte %d", root, d.dec.InputOffset()).
			WithFix("send one JSON value")
	}
	return nil
}

// decoder is one call of Decode.
type decoder struct {
	root string
	dec  *jsontext.Decoder
}

// refuse turns a reader's error into a refusal; a refusal stays what it is. The text
// is read once more, because a reader that was taking a whole value when it failed
// cannot tell the place inside it.
func refuse(root string, data []byte, err error) *refusal.Refusal {
	if r, ok := refusal.As(err); ok {
		return r
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		if _, again := dec.ReadToken(); again != nil {
			if again != io.EOF || err == io.EOF {
				err = again
			}
			break
		}
	}
	place, what, fix := syntaxError(dec, root, err)
	return refusal.New(refusal.InvalidRequest, place, "%s", what).WithFix("%s", fix)
}

// at refuses what the decoder just read or is about to read.
func (d *decoder) at(place, format string, args ...any) *refusal.Refusal {
	return refusal.New(refusal.InvalidRequest, place, "%s %s", place, fmt.Sprintf(format, args...))
}

// here is the place of the last token.
func (d *decoder) here() string { return placeOf(d.dec, d.root, d.dec.StackPointer()) }

// value reads the next value into v as p describes it.
func (d *decoder) value(p *plan, v reflect.Value) error {
	kind := d.dec.PeekKind()
	if p.shape == shapeRaw {
		raw, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		v.SetBytes(append([]byte(nil), raw...))
		return nil
	}
	if kind == 'n' && p.nullable() {
		if _, err := d.dec.ReadToken(); err != nil {
			return err
		}
		v.SetZero()
		return nil
	}
	switch p.shape {
	case shapePointer:
		v.Set(reflect.New(p.typ.Elem()))
		return d.value(p.elem, v.Elem())
	case shapeStruct:
		return d.object(p, v)
	case shapeSlice:
		return d.slice(p, v)
	case shapeMap:
		return d.mapping(p, v)
	case shapeOpaque:
		return d.opaque(p, v)
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		return err
	}
	return d.scalar(p, v, tok)
}

// object reads a struct's members.
func (d *decoder) object(p *plan, v reflect.Value) error {
	if err := d.open(p, '{'); err != nil {
		return err
	}
	var seen uint64
	for d.dec.PeekKind() != '}' {
		tok, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		f, ok := p.fields[tok.String()]
		if !ok {
			place := d.here()
			return d.at(place, "is not a field here").WithFix("%s", p.listFields())
		}
		seen |= 1 << f.bit
		if err := d.value(f.plan, v.FieldByIndex(f.index)); err != nil {
			return err
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for _, f := range p.required {
		if seen&(1<<f.bit) == 0 {
			return d.at(member(d.here(), f.name), "is missing").WithFix("send %q, %s", f.name, f.plan.describe())
		}
	}
	return nil
}

// open reads the token that begins an object or an array.
func (d *decoder) open(p *plan, kind jsontext.Kind) error {
	tok, err := d.dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() == kind {
		return nil
	}
	return d.mismatch(p, tok)
}

// mismatch refuses a token of the wrong type. A token that opens an object or array
// puts the decoder inside it, so the place is that of the parent.
func (d *decoder) mismatch(p *plan, tok jsontext.Token) error {
	return d.at(d.here(), "is %s", kindName(tok.Kind())).WithFix("send %s", p.describe())
}

// slice reads an array; the elements read so far are in v even when it fails.
func (d *decoder) slice(p *plan, v reflect.Value) error {
	if err := d.open(p, '['); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(p.typ, 0, 4))
	for n := 0; d.dec.PeekKind() != ']'; n++ {
		if n == v.Cap() {
			v.Grow(n)
		}
		v.SetLen(n + 1)
		if err := d.value(p.elem, v.Index(n)); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// mapping reads an object into a map with string keys.
func (d *decoder) mapping(p *plan, v reflect.Value) error {
	if err := d.open(p, '{'); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(p.typ))
	for d.dec.PeekKind() != '}' {
		tok, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		key := reflect.New(p.typ.Key()).Elem()
		key.SetString(tok.String())
		elem := reflect.New(p.typ.Elem()).Elem()
		if err := d.value(p.elem, elem); err != nil {
			return err
		}
		v.SetMapIndex(key, elem)
	}
	_, err := d.dec.ReadToken()
	return err
}

// opaque hands a value to the type's own reader.
func (d *decoder) opaque(p *plan, v reflect.Value) error {
	raw, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() == 'n' && p.typ.Kind() != reflect.Interface {
		return d.at(d.here(), "is null").WithFix("send %s", p.describe())
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return d.at(d.here(), "cannot be read: %v", cut(err.Error())).WithFix("send %s", p.describe())
	}
	return nil
}

// scalar sets a string, number, boolean or byte string.
func (d *decoder) scalar(p *plan, v reflect.Value, tok jsontext.Token) error {
	switch kind := tok.Kind(); {
	case p.shape == shapeString && kind == '"':
		v.SetString(tok.String())
	case p.shape == shapeBytes && kind == '"':
		data, err := base64.StdEncoding.DecodeString(tok.String())
		if err != nil {
			return d.at(d.here(), "is not base64: %v", err).WithFix("send standard base64 with padding and no line breaks")
		}
		v.SetBytes(data)
	case p.shape == shapeBool && (kind == 't' || kind == 'f'):
		v.SetBool(tok.Bool())
	case p.shape == shapeInt && kind == '0':
		n, err := strconv.ParseInt(tok.String(), 10, p.typ.Bits())
		if err != nil {
			return d.at(d.here(), "is %s, which is not a whole number of %d bits", cut(tok.String()), p.typ.Bits()).
				WithFix("send %s", p.describe())
		}
		v.SetInt(n)
	case p.shape == shapeFloat && kind == '0':
		n, err := strconv.ParseFloat(tok.String(), p.typ.Bits())
		if err != nil {
			return d.at(d.here(), "is %s, which is out of range", cut(tok.String())).WithFix("send a smaller number")
		}
		v.SetFloat(n)
	default:
		return d.mismatch(p, tok)
	}
	return nil
}

// syntaxError says where and how a text stopped being acceptable JSON. It is shared
// by Decode and Check, so that both doors speak alike.
func syntaxError(dec *jsontext.Decoder, root string, err error) (place, what, fix string) {
	place = root
	var syn *jsontext.SyntacticError
	switch {
	case errors.As(err, &syn):
		place = placeOf(dec, root, syn.JSONPointer)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			return place, place + " is given twice", "give each name once in an object"
		case errors.Is(syn.Err, io.ErrUnexpectedEOF):
			return place, fmt.Sprintf("the text ends at byte %d before its value does", syn.ByteOffset), "send one complete JSON value"
		}
		return place, fmt.Sprintf("%s is not valid JSON: %v at byte %d", place, cut(syn.Err.Error()), syn.ByteOffset), "send one JSON value in UTF-8"
	case errors.Is(err, io.EOF):
		return place, place + " is empty", "send one JSON value"
	}
	return place, fmt.Sprintf("%s cannot be read: %v", place, cut(err.Error())), "send one JSON value in UTF-8"
}
