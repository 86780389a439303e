package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slate-agents/slate/id"
)

// The types of a journal event. Opened, Sent, Settled and Migrated are inputs: the
// outside world caused them. The rest follow from the record before them.
const (
	EventOpened   = "opened"
	EventEntered  = "entered"
	EventFired    = "fired"
	EventSent     = "sent"
	EventSettled  = "settled"
	EventEnded    = "ended"
	EventMigrated = "migrated"
)

// The reasons why a run ended. They are wire values.
const (
	ReasonTerminal               = "terminal"
	ReasonMaxIterations          = "maxIterations"
	ReasonExchangesPerStage      = "maxExchangesPerStage"
	ReasonExchangesPerAgentStage = "maxExchangesPerAgentPerStage"
	ReasonStuck                  = "STUCK"
	ReasonGuardError             = "GUARD_ERROR"
	ReasonMicrostepLimit         = "MICROSTEP_LIMIT"
	ReasonGuardCostLimit         = "GUARD_COST_LIMIT"
)

// Event is the content of one journal record. Which fields are set depends on the
// type; the order of fields in the JSON is the order here.
type Event struct {
	Type string `json:"type"`
	// Digest, Name and Version identify the definition (opened, migrated).
	Digest  id.Digest `json:"digest,omitempty"`
	Name    string    `json:"name,omitempty"`
	Version int       `json:"version,omitempty"`
	// Previous is the digest that a migration left.
	Previous id.Digest `json:"previous,omitempty"`
	// From and To are the states of a fired transition, Transition its index in the
	// state's list.
	From       string `json:"from,omitempty"`
	To         string `json:"to,omitempty"`
	Transition *int   `json:"transition,omitempty"`
	// State is the state entered (entered) or that the run ended in (ended).
	State string `json:"state,omitempty"`
	// Agent and Attempt identify a summons inside its entry (sent, settled, and an
	// ended run whose next summons would have passed a bound).
	Agent string `json:"agent,omitempty"`
	// Entry counts the state entries of the run from 1. A fired transition names the
	// entry it left.
	Entry   int `json:"entry,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Acknowledged, Failure and Met say how a summons ended (settled).
	Acknowledged *bool  `json:"acknowledged,omitempty"`
	Failure      string `json:"failure,omitempty"`
	Met          *bool  `json:"met,omitempty"`
	// Reason is why the run ended.
	Reason string `json:"reason,omitempty"`
	// Cause is the sequence number of the input that led to it (entered, fired, ended).
	Cause id.Seq `json:"cause,omitempty"`
	// Guards are the guards evaluated, in order, the false ones too (fired, ended).
	Guards []GuardResult `json:"guards,omitempty"`
	// Message is one sentence for a person (ended).
	Message string `json:"message,omitempty"`
}

// GuardResult is one evaluation of one guard.
type GuardResult struct {
	// Transition is the index of the transition in the state's list.
	Transition int    `json:"transition"`
	To         string `json:"to"`
	Expression string `json:"expression"`
	Result     bool   `json:"result"`
	// Error is set when the guard had no result.
	Error string `json:"error,omitempty"`
}

// ParseEvent reads the content of a journal record.
func ParseEvent(content json.RawMessage) (*Event, error) {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	var e Event
	if err := dec.Decode(&e); err != nil {
		return nil, fmt.Errorf("machine: journal record: %w", err)
	}
	if e.Type == "" {
		return nil, fmt.Errorf("machine: journal record without a type")
	}
	return &e, nil
}

// content is the JSON of the event: what encoding/json makes of it without HTML
// escapes, written by hand because every step pays for it.
func (e *Event) content() json.RawMessage {
	m := members(make([]byte, 0, 128))
	m = append(m, `{"type":`...)
	m = append(m, quote(e.Type)...)
	m.text("digest", string(e.Digest))
	m.text("name", e.Name)
	m.number("version", int64(e.Version))
	m.text("previous", string(e.Previous))
	m.text("from", e.From)
	m.text("to", e.To)
	if e.Transition != nil {
		m = strconv.AppendInt(append(m, `,"transition":`...), int64(*e.Transition), 10)
	}
	m.text("state", e.State)
	m.text("agent", e.Agent)
	m.number("entry", int64(e.Entry))
	m.number("attempt", int64(e.Attempt))
	if e.Acknowledged != nil {
		m = strconv.AppendBool(append(m, `,"acknowledged":`...), *e.Acknowledged)
	}
	m.text("failure", e.Failure)
	if e.Met != nil {
		m = strconv.AppendBool(append(m, `,"met":`...), *e.Met)
	}
	m.text("reason", e.Reason)
	m.number("cause", int64(e.Cause))
	for i, g := range e.Guards {
		if i == 0 {
			m = append(m, `,"guards":[`...)
		} else {
			m = append(m, ',')
		}
		m = strconv.AppendInt(append(m, `{"transition":`...), int64(g.Transition), 10)
		m = append(append(m, `,"to":`...), quote(g.To)...)
		m = append(append(m, `,"expression":`...), quote(g.Expression)...)
		m = strconv.AppendBool(append(m, `,"result":`...), g.Result)
		m.text("error", g.Error)
		m = append(m, '}')
	}
	if len(e.Guards) > 0 {
		m = append(m, ']')
	}
	m.text("message", e.Message)
	return json.RawMessage(append(m, '}'))
}

// members is a JSON object being written; empty members are left out.
type members []byte

func (m *members) text(name, value string) {
	if value != "" {
		*m = append(append(append(append(*m, `,"`...), name...), `":`...), quote(value)...)
	}
}

func (m *members) number(name string, value int64) {
	if value != 0 {
		*m = strconv.AppendInt(append(append(append(*m, `,"`...), name...), `":`...), value, 10)
	}
}

// encode marshals a value of this package, which cannot fail.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("machine: encoding %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func ptr[T any](v T) *T { return &v }
