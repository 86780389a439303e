package memory

// chunk is how many elements a list keeps together.
const chunk = 256

// list is an append-only sequence that never moves what it holds, so that an
// append costs the same however long the list is. The first chunk grows as a
// slice does: most boards are small.
type list[T any] struct {
	chunks [][]T
	n      int
}

func (l *list[T]) len() int { return l.n }

// at returns a pointer to element i, valid as long as the list.
func (l *list[T]) at(i int) *T { return &l.chunks[i/chunk][i%chunk] }

func (l *list[T]) append(v T) {
	k := l.n / chunk
	if k == len(l.chunks) {
		size := 0
		if k > 0 {
			size = chunk
		}
		l.chunks = append(l.chunks, make([]T, 0, size))
	}
	l.chunks[k] = append(l.chunks[k], v)
	l.n++
}
