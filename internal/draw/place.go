package draw

// place finds the x of every item: each wants to stand where its lines run straight,
// and gives way to its neighbours in the rank.
func (l *layout) place() {
	for _, rank := range l.ranks {
		x := 0
		for i, it := range rank {
			if i > 0 {
				x += apart(rank[i-1], it)
			}
			it.x = x
		}
		for _, it := range rank {
			it.x -= x / 2
		}
	}
	const turns = 24
	for turn := range turns {
		up, down := turn%2 == 0, turn%2 == 1
		if turn >= turns-6 {
			up, down = true, true
		}
		if turn%2 == 0 {
			for r := range l.ranks {
				pull(l.ranks[r], up, down)
			}
		} else {
			for r := len(l.ranks) - 1; r >= 0; r-- {
				pull(l.ranks[r], up, down)
			}
		}
	}
}

// straighten takes small bends out of placed lines: items of one edge come under each
// other wherever their neighbours leave room for it, and a line that meets a box a
// little beside its port moves the port. A box that no line holds comes to the others.
func (l *layout) straighten() {
	for _, b := range l.boxes {
		if it := b.item; len(it.up)+len(it.down) == 0 && len(l.ranks[it.rank]) > 1 {
			low, high := l.free(it)
			if it.x = low; it.place == 0 {
				it.x = high
			}
		}
	}
	for _, a := range l.arrows {
		if len(a.path) < 3 {
			continue
		}
		way := a.path[1 : len(a.path)-1]
		for len(way) > 0 {
			low, high := l.free(way[0])
			sum, n := way[0].x, 1
			for ; n < len(way); n++ {
				lo, hi := l.free(way[n])
				if max(low, lo) > min(high, hi) {
					break
				}
				low, high = max(low, lo), min(high, hi)
				sum += way[n].x
			}
			for _, it := range way[:n] {
				it.x = min(max(floor(sum, n), low), high)
			}
			way = way[n:]
		}
	}
	const little = 9
	for _, b := range l.boxes {
		it := b.item
		for _, k := range it.up {
			if d := k.above.x - it.x - k.in; abs(d) < little && abs(k.in+d) < b.w/2-8 {
				k.in += d
			}
		}
		for _, k := range it.down {
			if d := k.to.x - it.x - k.out; abs(d) < little && abs(k.out+d) < b.w/2-8 {
				k.out += d
			}
		}
	}
}

// free is the room in which an item can move without its neighbours.
func (l *layout) free(it *item) (low, high int) {
	rank := l.ranks[it.rank]
	low, high = it.x-2000, it.x+2000
	if it.place > 0 {
		low = rank[it.place-1].x + apart(rank[it.place-1], it)
	}
	if it.place+1 < len(rank) {
		high = rank[it.place+1].x - apart(it, rank[it.place+1])
	}
	return low, high
}

// apart is how far the middles of two neighbours must be from each other.
func apart(a, b *item) int {
	gap := itemGap
	if a.h == 0 && b.h == 0 {
		gap = lineGap
	}
	return a.right + gap + b.left
}

// pull moves the items of a rank as near as possible to where their links draw them:
// the least sum of squared distances that keeps order and room. Neighbours that press
// against each other become a group, and a group stands at its mean.
func pull(rank []*item, up, down bool) {
	type group struct{ sum, weight, first int }
	var groups []group
	base := make([]int, len(rank))
	for i, it := range rank {
		if i > 0 {
			base[i] = base[i-1] + apart(rank[i-1], it)
		}
		want, weight := it.wish(up, down)
		g := group{(want - base[i]) * weight, weight, i}
		for len(groups) > 0 {
			last := groups[len(groups)-1]
			if last.sum*g.weight < g.sum*last.weight {
				break
			}
			g = group{last.sum + g.sum, last.weight + g.weight, last.first}
			groups = groups[:len(groups)-1]
		}
		groups = append(groups, g)
	}
	for n, g := range groups {
		end := len(rank)
		if n+1 < len(groups) {
			end = groups[n+1].first
		}
		for i := g.first; i < end; i++ {
			rank[i].x = floor(g.sum, g.weight) + base[i]
		}
	}
}

// wish is where an item's links want it, and how much.
func (it *item) wish(up, down bool) (x, weight int) {
	sum := 0
	if up {
		for _, k := range it.up {
			sum += (k.above.x + k.out - k.in) * k.importance
			weight += k.importance
		}
	}
	if down {
		for _, k := range it.down {
			sum += (k.to.x + k.in - k.out) * k.importance
			weight += k.importance
		}
	}
	if weight == 0 {
		return it.x, 1
	}
	return floor(sum, weight), weight
}

// floor divides and rounds down, below zero too, so that groups keep their distances.
func floor(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// stack finds the y of every rank, below the title, and moves the whole picture into
// the corner.
func (l *layout) stack() {
	l.top, l.bottom = make([]int, len(l.ranks)), make([]int, len(l.ranks))
	high := make([]int, len(l.ranks))
	for r, rank := range l.ranks {
		for _, it := range rank {
			high[r] = max(high[r], it.h)
		}
	}
	for _, n := range l.lanes {
		high[n.label] = max(high[n.label], n.arrow.h)
	}
	y := margin
	if len(l.title) > 0 {
		y += len(l.title)*titleFont.line() + 8
	}
	if l.turnsAbove() {
		y += rankGap
	}
	for r := range l.ranks {
		if r > 0 {
			// Lines that go far sideways need a higher gap to be told apart.
			far := 0
			for _, it := range l.ranks[r] {
				for _, k := range it.up {
					far = max(far, abs(k.above.x+k.out-k.to.x-k.in))
				}
			}
			y += rankGap + min(36, far/14)
		}
		l.top[r] = y
		y += high[r]
		l.bottom[r] = y
	}
	if l.turnsBelow() {
		y += rankGap
	}
	l.h = y + margin

	left, right := 0, 0
	first := true
	include := func(a, b int) {
		if first {
			left, right, first = a, b, false
		}
		left, right = min(left, a), max(right, b)
	}
	for _, rank := range l.ranks {
		for _, it := range rank {
			include(it.x-it.left, it.x+it.right)
		}
	}
	for _, n := range l.lanes {
		half := max(n.arrow.w/2, 4)
		include(n.x-half, n.x+half)
	}
	l.w = max(right-left, titleFont.widest(l.title), 60) + 2*margin
	shift := (l.w-(right-left))/2 - left
	for r, rank := range l.ranks {
		for _, it := range rank {
			it.x += shift
			if it.box != nil {
				it.box.top = (l.top[r]+l.bottom[r])/2 - it.box.h/2
			}
		}
	}
	for _, n := range l.lanes {
		n.x += shift
	}
}

func abs(n int) int { return max(n, -n) }
