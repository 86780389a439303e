package machine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slate-agents/slate/wire"
)

// schema is the part of JSON Schema that forms and tools use.
type schema struct {
	Type        any                `json:"type,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int64             `json:"minimum,omitempty"`
	Maximum     *int64             `json:"maximum,omitempty"`
	Default     *int64             `json:"default,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *bool              `json:"additionalProperties,omitempty"`
}

// valueSchema is the schema of one value of the field.
func (f *Field) valueSchema() schema {
	switch f.Element() {
	case Number:
		return schema{Type: "number"}
	case Integer:
		return schema{Type: "integer", Minimum: ptr(int64(-MaxInteger)), Maximum: ptr(int64(MaxInteger))}
	case Boolean:
		return schema{Type: "boolean"}
	case Enum:
		return schema{Type: "string", Enum: f.Values}
	case Blob:
		return schema{Type: "string", Pattern: "^" + blobPrefix + "[0-9a-f]{64}$"}
	}
	return schema{Type: "string"}
}

// Form is the JSON schema of a value that answers the requirement (M13): a scalar's
// value, one element of a list, or the agent's entry of a map.
func (d *Definition) Form(q Requirement) json.RawMessage {
	f, ok := d.fields[q.Field]
	if !ok {
		return json.RawMessage("false")
	}
	s := f.valueSchema()
	s.Title, s.Description = f.Name, q.Prompt
	return encode(s)
}

// meaning is the field on one line of a tool's description.
func (f *Field) meaning() string {
	what := string(f.Element())
	if f.Element() == Enum {
		what = "one of " + strings.Join(f.Values, ", ")
	}
	switch f.Type {
	case List:
		what += ", appended to the list"
	case Map:
		what += ", your own entry of the map"
	}
	if f.Validate != "" {
		what += ", for which " + f.Validate
	}
	return f.Name + ": " + what
}

// Tools describes the calls an agent of the machine may make, with the JSON schema
// of each (B21). An agent the document does not declare is offered none.
func (d *Definition) Tools(agent string) []wire.Tool {
	if _, ok := d.agents[agent]; !ok {
		return nil
	}
	var meanings []string
	kinds := map[string]bool{}
	for i := range d.Fields {
		if f := &d.Fields[i]; !f.Hidden {
			meanings = append(meanings, f.meaning())
			kinds[f.valueSchema().Type.(string)] = true
		}
	}
	var types []string
	for _, t := range []string{"string", "number", "integer", "boolean"} {
		if kinds[t] && (t != "integer" || !kinds["number"]) {
			types = append(types, t)
		}
	}
	field := func(verb string) *schema {
		return &schema{Type: "string", Description: "The context field to " + verb + ".", Enum: d.visible()}
	}
	region := &schema{Type: "string", Description: "The region's name.", Enum: d.visible()}
	cursor := &schema{Type: "string", Description: "Where to go on: next of the page before. Leave it out to begin."}
	limit := &schema{Type: "integer", Description: "The most entries to return.", Minimum: ptr(int64(1)),
		Maximum: ptr(int64(wire.MaxPage)), Default: ptr(int64(wire.DefaultPage))}
	tool := func(name, description string, properties map[string]*schema, required ...string) wire.Tool {
		return wire.Tool{Name: name, Description: description, InputSchema: encode(schema{
			Type: "object", Properties: properties, Required: required, Additional: ptr(false)})}
	}
	return []wire.Tool{
		tool(wire.CallUpdateContext, "Write one context field: replace a scalar, append one element to a list, or set your own entry of a map. "+
			fmt.Sprintf("Fields: %s.", strings.Join(meanings, "; ")),
			map[string]*schema{
				"field": field("write"),
				"value": {Type: types, Description: "The value, of the field's type."},
				"key":   {Type: "string", Description: "The entry of a map that no requirement gathers. Leave it out to write your own entry."},
			}, "field", "value"),
		tool(wire.CallReadContext, "Read one context field in full, with the author of every entry.",
			map[string]*schema{"field": field("read")}, "field"),
		tool(wire.CallRegions, "List the board's regions.", map[string]*schema{}),
		tool(wire.CallLevel, "Read a page of a level's contributions, oldest first.",
			map[string]*schema{"region": region, "cursor": cursor, "limit": limit}, "region"),
		tool(wire.CallPremise, "Read a premise as it stands.", map[string]*schema{"region": region}, "region"),
		tool(wire.CallChanges, "Read a page of everything written after a cursor, in order.",
			map[string]*schema{"cursor": cursor, "limit": limit}),
		tool(wire.CallPutBlob, "Store a large value by its content. The answer's digest, after "+blobPrefix+", is the value of a blob field.",
			map[string]*schema{"base64": {Type: "string", Description: "The bytes, in standard base64 with padding."}}, "base64"),
		tool(wire.CallStanding, "Read the context block, the state and the position as they are now.", map[string]*schema{}),
	}
}
