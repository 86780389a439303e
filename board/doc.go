// Package board is the blackboard: named regions under one total order, runs,
// agents and their notifications, and the rules that decide every write (B).
//
// The rules are pure. A State is what a store read about one board; its methods
// decide one call each, change the State, and collect a Change for the store to
// apply. Time, salts and identifiers arrive as arguments. The package never reads
// the content it stores, and must not know SQL, HTTP or who calls it.
//
// Store is the public contract of a place that keeps boards; package boardtest
// holds every implementation to it.
package board
