package machine

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var documentSchema []byte

// Schema is the JSON Schema (draft-07) of a machine document, for editors. It says
// what a document may look like; only Load checks that its parts fit each other.
func Schema() []byte { return slices.Clone(documentSchema) }
