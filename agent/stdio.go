package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// stdio is a Surface over the agent protocol. Results come in the order of the
// calls, so a queue of waiting calls is all the bookkeeping there is. A goroutine
// reads results only while calls wait: none is left behind when the last one is
// answered.
type stdio struct {
	in *bufio.Reader // touched by the reading goroutine alone

	// sending is held while a call is queued and written, so that lines keep the
	// queue's order. It is not mu: results must be read while a write blocks.
	sending sync.Mutex
	out     io.Writer
	last    int64

	mu      sync.Mutex
	waiting []chan<- reply
	reading bool
	lost    error // why no further call can be made
}

// reply is what a waiting call gets: a result or a lost connection.
type reply struct {
	result wire.CallResult
	err    error
}

func newStdio(in *bufio.Reader, out io.Writer) *stdio {
	return &stdio{in: in, out: out}
}

// call sends one call and waits for its result. A refused call returns its refusal
// as the error, together with the result line that carried it.
func (s *stdio) call(ctx context.Context, name string, with, result any) (wire.CallResult, error) {
	if err := ctx.Err(); err != nil {
		return wire.CallResult{}, err
	}
	body, err := encode(with)
	if err != nil {
		return wire.CallResult{}, fmt.Errorf("%s: %w", name, err)
	}
	answer, err := s.send(name, body)
	if err != nil {
		return wire.CallResult{}, fmt.Errorf("%s: %w", name, err)
	}
	select {
	case <-ctx.Done():
		return wire.CallResult{}, ctx.Err()
	case got := <-answer:
		switch {
		case got.err != nil:
			return wire.CallResult{}, fmt.Errorf("%s: %w", name, got.err)
		case got.result.Refusal != nil:
			return got.result, got.result.Refusal
		case !got.result.OK:
			return got.result, fmt.Errorf("%s: the result is neither ok nor a refusal", name)
		}
		if err := json.Unmarshal(got.result.Result, result); err != nil {
			return got.result, fmt.Errorf("%s: read the result: %w", name, err)
		}
		return got.result, nil
	}
}

// send writes the call's line and queues for its result.
func (s *stdio) send(name string, with json.RawMessage) (<-chan reply, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.last++
	line, err := encode(wire.Call{ID: json.RawMessage(strconv.FormatInt(s.last, 10)), Call: name, With: with})
	if err != nil {
		return nil, err
	}
	if len(line) > wire.MaxLine {
		return nil, fmt.Errorf("the call has %d bytes, a line may have %d; store the value as a blob in parts", len(line), wire.MaxLine)
	}
	answer := make(chan reply, 1)
	s.mu.Lock()
	if s.lost != nil {
		s.mu.Unlock()
		return nil, s.lost
	}
	s.waiting = append(s.waiting, answer)
	if !s.reading {
		s.reading = true
		go s.read()
	}
	s.mu.Unlock()
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost = fmt.Errorf("the connection is lost: %w", err)
		return nil, s.lost
	}
	return answer, nil
}

// read hands results to the waiting calls until none waits.
func (s *stdio) read() {
	for {
		var got reply
		line, err := s.in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			got.err = errors.New("the connection is lost: standard input ended before the result came")
		case err != nil:
			got.err = fmt.Errorf("the connection is lost: %w", err)
		default:
			if err := json.Unmarshal(line, &got.result); err != nil {
				got.err = fmt.Errorf("the result is not one: %w", err)
			}
		}
		s.mu.Lock()
		answered := s.waiting[:1:1]
		s.waiting = s.waiting[1:]
		if got.err != nil {
			s.lost = got.err
			answered = append(answered, s.waiting...)
			s.waiting = nil
		}
		s.reading = len(s.waiting) > 0
		more := s.reading
		s.mu.Unlock()
		for _, answer := range answered {
			answer <- got
		}
		if !more {
			return
		}
	}
}

func (s *stdio) UpdateContext(ctx context.Context, field string, value any) (wire.Updated, error) {
	return s.UpdateEntry(ctx, field, "", value)
}

func (s *stdio) UpdateEntry(ctx context.Context, field, key string, value any) (wire.Updated, error) {
	raw, err := marshal(value)
	if err != nil {
		return wire.Updated{}, fmt.Errorf("the value of %s: %w", field, err)
	}
	var wrote wire.Wrote
	line, err := s.call(ctx, wire.CallUpdateContext, wire.UpdateContext{Field: field, Key: key, Value: raw}, &wrote)
	return wire.Updated{
		Seq: wrote.Seq, Repeated: wrote.Repeated, Differs: wrote.Differs, State: wrote.State,
		Live: line.Live, Position: line.Position, Context: line.Context,
	}, err
}

func (s *stdio) ReadContext(ctx context.Context, field string) (out wire.Field, err error) {
	_, err = s.call(ctx, wire.CallReadContext, wire.ReadContext{Field: field}, &out)
	return out, err
}

func (s *stdio) Regions(ctx context.Context) ([]wire.Region, error) {
	var out wire.Regions
	_, err := s.call(ctx, wire.CallRegions, struct{}{}, &out)
	return out.Regions, err
}

func (s *stdio) Level(ctx context.Context, region string, page wire.Page) (out wire.Entries, err error) {
	_, err = s.call(ctx, wire.CallLevel, wire.ReadRegion{Region: region, Page: page}, &out)
	return out, err
}

func (s *stdio) Premise(ctx context.Context, region string) (out wire.PremiseState, err error) {
	_, err = s.call(ctx, wire.CallPremise, wire.ReadPremise{Region: region}, &out)
	return out, err
}

func (s *stdio) Changes(ctx context.Context, page wire.Page) (out wire.Entries, err error) {
	_, err = s.call(ctx, wire.CallChanges, page, &out)
	return out, err
}

func (s *stdio) PutBlob(ctx context.Context, data []byte) (id.Digest, error) {
	if data == nil {
		data = []byte{} // null is not a blob, an empty string is
	}
	var out wire.Stored
	_, err := s.call(ctx, wire.CallPutBlob, wire.PutBlob{Base64: data}, &out)
	return out.Digest, err
}

func (s *stdio) Standing(ctx context.Context) (wire.Standing, error) {
	var out wire.Stands
	line, err := s.call(ctx, wire.CallStanding, struct{}{}, &out)
	return wire.Standing{State: out.State, Position: line.Position, Context: line.Context, Live: line.Live}, err
}
