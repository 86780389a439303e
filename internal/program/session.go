package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// session answers one program's lines, one after the other: each line gets exactly
// one result, in order.
type session struct {
	surface agent.Surface
	bounds  Bounds
	results *results
	observe *observer
	last    wire.Standing

	calls, bad, refusals int
	// cutOff is set when a line was refused because the context had ended.
	cutOff bool
}

// bound is the reason for which a program is ended that asks too much.
type bound string

func (b bound) Error() string { return string(b) }

func newSession(b agent.Surface, bounds Bounds, out *results, o *observer, s *wire.Summons) *session {
	return &session{surface: b, bounds: bounds, results: out, observe: o,
		last: wire.Standing{State: s.State, Position: s.Position, Context: s.Context, Live: true}}
}

// serve answers lines until the stream ends. A bound that was passed comes back as a
// bound, any other error is a defect of the surface or of the stream.
func (s *session) serve(ctx context.Context, stdout io.Reader) error {
	in := newLines(stdout, wire.MaxLine)
	for {
		line, length, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the program's calls: %w", err)
		}
		if s.calls == s.bounds.Calls {
			return bound(fmt.Sprintf("it made more than %d calls for one summons", s.bounds.Calls))
		}
		s.calls++
		if err := s.answer(ctx, line, length); err != nil {
			return err
		}
		if s.bad > s.bounds.BadLines {
			return bound(fmt.Sprintf("it wrote more than %d lines that are no calls", s.bounds.BadLines))
		}
	}
}

// answer carries out one line and queues its result.
func (s *session) answer(ctx context.Context, line []byte, length int) error {
	var call wire.Call
	no := readCall(line, length, &call)
	var result any
	var err error
	protocol := no != nil
	switch {
	case no != nil:
		s.bad++
	case ctx.Err() != nil:
		s.cutOff = true
		no = refusal.New(refusal.StaleSummons, "", "the summons is over: %s", why(ctx)).WithFix("stop and leave")
		protocol = true
	default:
		result, protocol, err = s.dispatch(ctx, call)
		if r, ok := refusal.As(err); ok {
			no, err = r, nil
			if protocol {
				s.bad++
			}
		} else if err != nil && ctx.Err() != nil {
			s.cutOff = true
			err = nil
			no = refusal.New(refusal.CommitUnknown, "", "%s while the call was under way; whether it took effect is not known", why(ctx)).
				WithFix("stop and leave; a later summons shows what the board holds")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", call.Call, err)
	}
	if err := s.look(ctx, result); err != nil {
		return err
	}
	out := wire.CallResult{ID: call.ID, OK: no == nil, Refusal: no, Position: s.last.Position, Context: s.last.Context, Live: s.last.Live}
	if no == nil {
		if out.Result, err = encode(answerOf(result)); err != nil {
			return fmt.Errorf("%s: the result cannot be sent: %w", call.Call, err)
		}
	} else {
		s.refusals++
		s.observe.event(Event{Kind: Refused, Line: printable(line, shown), Call: call.Call, Refusal: no, Protocol: protocol})
	}
	text, err := encode(out)
	if err != nil {
		return fmt.Errorf("%s: the result cannot be sent: %w", call.Call, err)
	}
	s.results.put(ctx, text)
	return nil
}

// look brings the standing up to date. Where it cannot be known any more the last
// one stands and the summons counts as over.
func (s *session) look(ctx context.Context, result any) error {
	if u, ok := result.(wire.Updated); ok {
		s.last = wire.Standing{State: u.State, Position: u.Position, Context: u.Context, Live: u.Live}
		return nil
	}
	if st, ok := result.(wire.Standing); ok {
		s.last = st
		return nil
	}
	now, err := s.surface.Standing(ctx)
	switch _, refused := refusal.As(err); {
	case err == nil:
		s.last = now
		if ctx.Err() != nil {
			s.last.Live = false
		}
	case refused || ctx.Err() != nil:
		s.last.Live = false
	default:
		return fmt.Errorf("standing: %w", err)
	}
	return nil
}

// dispatch carries out a call. protocol says that a refusal is of the call's form,
// and that the surface never saw it.
func (s *session) dispatch(ctx context.Context, call wire.Call) (result any, protocol bool, err error) {
	var none struct{}
	switch call.Call {
	case wire.CallUpdateContext:
		var with wire.UpdateContext
		if err := decodeWith(call, &with); err != nil {
			return nil, true, err
		}
		if with.Key != "" {
			result, err = s.surface.UpdateEntry(ctx, with.Field, with.Key, with.Value)
		} else {
			result, err = s.surface.UpdateContext(ctx, with.Field, with.Value)
		}
	case wire.CallReadContext:
		var with wire.ReadContext
		if err := decodeWith(call, &with); err != nil {
			return nil, true, err
		}
		var f wire.Field
		f, err = s.surface.ReadContext(ctx, with.Field)
		if f.Entries == nil {
			f.Entries = []wire.FieldEntry{}
		}
		result = f
	case wire.CallRegions:
		if err := decodeWith(call, &none); err != nil {
			return nil, true, err
		}
		var list []wire.Region
		list, err = s.surface.Regions(ctx)
		result = wire.Regions{Regions: append([]wire.Region{}, list...)}
	case wire.CallLevel:
		var with wire.ReadRegion
		if err := decodeWith(call, &with); err != nil {
			return nil, true, err
		}
		result, err = page(s.surface.Level(ctx, with.Region, with.Page))
	case wire.CallPremise:
		var with wire.ReadPremise
		if err := decodeWith(call, &with); err != nil {
			return nil, true, err
		}
		result, err = s.surface.Premise(ctx, with.Region)
	case wire.CallChanges:
		var with wire.Page
		if err := decodeWith(call, &with); err != nil {
			return nil, true, err
		}
		result, err = page(s.surface.Changes(ctx, with))
	case wire.CallPutBlob:
		var with wire.PutBlob
		if err := decodeWith(call, &with); err != nil {
			return nil, true, err
		}
		digest, e := s.surface.PutBlob(ctx, with.Base64)
		result, err = wire.Stored{Digest: digest, Bytes: len(with.Base64)}, e
	case wire.CallStanding:
		if err := decodeWith(call, &none); err != nil {
			return nil, true, err
		}
		result, err = s.surface.Standing(ctx)
	default:
		return nil, true, refusal.New(refusal.UnknownCall, call.Call, "there is no call %q", printable([]byte(call.Call), shown)).
			WithFix("call one of %s", strings.Join(wire.Calls, ", "))
	}
	if err != nil {
		return nil, false, err
	}
	return result, false, nil
}

// answerOf is the body a call is answered with: what every result line carries
// anyway is not said twice.
func answerOf(result any) any {
	switch r := result.(type) {
	case wire.Updated:
		return wire.Wrote{Seq: r.Seq, Repeated: r.Repeated, Differs: r.Differs, State: r.State}
	case wire.Standing:
		return wire.Stands{State: r.State}
	}
	return result
}

// page makes an empty page an empty array for programs that count on one.
func page(e wire.Entries, err error) (wire.Entries, error) {
	if e.Entries == nil {
		e.Entries = []wire.Entry{}
	}
	return e, err
}

// decodeWith reads the arguments of a call; a call without any has an empty object.
func decodeWith(call wire.Call, into any) error {
	if len(call.With) == 0 {
		call.With = json.RawMessage("{}")
	}
	return wire.DecodeAt("$.with", call.With, into)
}

// shown is how much of a program's line an event repeats.
const shown = 200

// maxID is the most bytes of a call's id.
const maxID = 128

// readCall reads a line into call, or says what is wrong with it; call keeps the id
// if the line has a usable one, so that the program can tell which line was refused.
func readCall(line []byte, length int, call *wire.Call) *refusal.Refusal {
	if length > wire.MaxLine {
		return refusal.New(refusal.BadLine, "", "the line has %d bytes, the limit is %d", length, wire.MaxLine).
			WithFix("write one call a line; store a large value with putBlob in parts")
	}
	err := wire.Decode(line, call)
	if err == nil {
		if idOK(call.ID) {
			return nil
		}
		call.ID = nil
		return refusal.New(refusal.InvalidRequest, "$.id", "the id is not a string or number of at most %d bytes", maxID).
			WithFix("number the calls 1, 2, 3, or leave the id out")
	}
	*call = wire.Call{ID: findID(line)}
	r, ok := refusal.As(err)
	if !ok {
		r = refusal.New(refusal.InvalidRequest, "$", "%v", err)
	}
	if first := bytes.TrimLeft(line, " \t\r"); len(first) == 0 || first[0] != '{' || !json.Valid(line) {
		bad := refusal.New(refusal.BadLine, r.Ref, "the line is not a JSON object: %s", r.Message)
		return bad.WithFix(`write one call a line, such as {"id":1,"call":"regions"}, and everything else to standard error`)
	}
	return r
}

// findID takes the id out of a line that is no acceptable call. What was wrong with
// the line may be wrong with its id, so the id is looked at before it is sent back.
func findID(line []byte) json.RawMessage {
	var only struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &only) != nil || !idOK(only.ID) || wire.CheckContent("id", only.ID) != nil {
		return nil
	}
	return only.ID
}

func idOK(id json.RawMessage) bool {
	return len(id) == 0 || len(id) <= maxID && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// why says why a context ended.
func why(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return "the deadline passed"
	case cause == context.Canceled:
		return "it was withdrawn"
	}
	return cause.Error()
}

// encode is a line of JSON, newline included, without the escapes that only HTML
// needs: programs read it with simple tools.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
