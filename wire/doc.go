// Package wire holds the request and answer bodies that cross between Slate and
// whoever calls it, in process or from another one. Both halves use the same
// types, so one half cannot spell a field differently from the other.
//
// It is a leaf: it imports id and refusal and knows no store, no decider and no
// transport. Field names are wire values: they are added to, never renamed.
// A field without omitempty is required; Decode refuses a body that leaves one out.
package wire
