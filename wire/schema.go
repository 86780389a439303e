package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// own are the types whose JSON is not what their Go type suggests.
var own = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "In nanoseconds."},
	reflect.TypeFor[Names]():           {Types: []string{"null", "array"}, Items: &jsonschema.Schema{Type: "string"}},
}

// Schema is the JSON Schema of a body: its required fields are those that Decode
// asks for, and it allows no others. It panics on a type that has no JSON form,
// which is a defect of the program.
func Schema(t reflect.Type) json.RawMessage {
	if t == nil || t == reflect.TypeFor[struct{}]() {
		return json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: own})
	if err == nil {
		var data []byte
		if data, err = json.Marshal(s); err == nil {
			return data
		}
	}
	panic(fmt.Sprintf("wire: the schema of %s: %v", t, err))
}
