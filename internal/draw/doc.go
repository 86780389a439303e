// Package draw turns what others decided to show into pictures: a wire.Graph into
// SVG, Mermaid or DOT, and a Story (lanes, and marks in the order they happened)
// into an SVG of a run.
//
// It must not know where nodes, edges and marks come from: no machine, no store, no
// record. It imports wire for the graph and nothing else of the project. Whoever
// tells a run maps its own events to marks.
//
// The same input gives the same bytes on every computer: the layout counts in whole
// pixels, because floating point may round differently from one processor to the
// next. Any text may be drawn. It is cleaned, wrapped, cut and escaped here, so
// callers hand it over as it is. A picture holds no script and refers to nothing
// outside itself.
package draw
