package program

import "io"

// logs turns standard error into events and keeps its end for the error.
type logs struct {
	bounds   Bounds
	observe  *observer
	count    int
	unlogged int
	tail     []string
}

// tailLines and tailBytes bound what is kept for the error.
const (
	tailLines = 20
	tailBytes = 500
)

// read reads until the stream ends: a program must never wait for its log.
func (l *logs) read(stderr io.Reader) {
	in := newLines(stderr, l.bounds.LogBytes)
	for {
		line, length, err := in.next()
		if err != nil {
			return
		}
		text := printable(line, l.bounds.LogBytes)
		if length > len(line) {
			text += "…"
		}
		l.tail = append(l.tail, printable(line, tailBytes))
		if len(l.tail) > tailLines {
			l.tail = l.tail[1:]
		}
		if l.count == l.bounds.LogLines {
			l.unlogged++
			continue
		}
		l.count++
		l.observe.event(Event{Kind: Log, Line: text})
	}
}
