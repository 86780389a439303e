package draw

import (
	"cmp"
	"slices"
)

// lane is the way of an edge that leads back: out of its box, up beside everything
// that stands between, and into the box it returns to.
type lane struct {
	arrow *arrow
	// x is where the lane runs; right says on which side of the picture.
	x     int
	right bool
	// label is the rank the label stands in.
	label int
	// leave and enter are how the lane meets its boxes.
	leave, enter joint
}

// joint is where a lane meets a box: at its side, so far below its upper edge, if
// nothing stands between the two; otherwise, so far from its middle, over a turn in
// the gap below or above the box, so deep.
type joint struct {
	side bool
	at   int
	deep int
}

// sideLanes finds the ways of the edges that lead back, the shortest first, so that
// they lie inside the longer ones. A lane keeps clear only of the ranks it passes.
func (l *layout) sideLanes() {
	slices.SortStableFunc(l.lanes, func(a, b *lane) int { return cmp.Compare(a.span(), b.span()) })
	left, right := make([]int, len(l.ranks)), make([]int, len(l.ranks))
	for r, rank := range l.ranks {
		for i, it := range rank {
			if i == 0 {
				left[r], right[r] = it.x-it.left, it.x+it.right
			}
			left[r], right[r] = min(left[r], it.x-it.left), max(right[r], it.x+it.right)
		}
	}
	// Both sides are measured as if they were the right one.
	for r := range left {
		left[r] = -left[r]
	}
	for _, n := range l.lanes {
		from, to := n.arrow.from.item, n.arrow.to.item
		rx, rl := n.clear(right)
		lx, ll := n.clear(left)
		detour := func(x, side int, right bool) int {
			d := abs(x-side*from.x) + abs(x-side*to.x)
			for _, it := range []*item{from, to} {
				if !l.outermost(it, right) {
					d += 60
				}
			}
			return d
		}
		n.right = detour(rx, 1, true) <= detour(lx, -1, false)
		edge := right
		if n.right {
			n.x, n.label = rx, rl
		} else {
			n.x, n.label, edge = -lx, ll, left
		}
		for r := to.rank; r <= from.rank; r++ {
			edge[r] = outward(n.x, n.right) + 2
			if r == n.label {
				edge[r] += n.arrow.w / 2
			}
		}
	}
	l.joints()
}

// outward is an x as its side measures it.
func outward(x int, right bool) int {
	if right {
		return x
	}
	return -x
}

// span is how many ranks a lane passes.
func (n *lane) span() int { return n.arrow.from.item.rank - n.arrow.to.item.rank }

// clear is the nearest x that keeps clear of everything up to the edges of the ranks,
// and the rank where the label keeps the lane nearest.
func (n *lane) clear(edge []int) (x, label int) {
	from, to := n.arrow.from.item.rank, n.arrow.to.item.rank
	plain := edge[to] + itemGap
	for r := to; r <= from; r++ {
		plain = max(plain, edge[r]+itemGap)
	}
	middle := (from + to) / 2
	for r := to + 1; r < from; r += 2 {
		at := max(plain, edge[r]+lineGap+n.arrow.w/2)
		if r == to+1 || at < x || at == x && abs(r-middle) < abs(label-middle) {
			x, label = at, r
		}
	}
	return x, label
}

// outermost says that nothing stands between an item and the side of the picture.
func (l *layout) outermost(it *item, right bool) bool {
	if right {
		return it.place == len(l.ranks[it.rank])-1 && len(it.box.loops) == 0
	}
	return it.place == 0
}

// joints decides how the lanes meet their boxes, and spreads those at one side of a
// box over its height: leaving lanes above, the inner ones first, and arriving ones
// below, the outer ones first, so that they do not cross each other.
func (l *layout) joints() {
	type side struct {
		box   *box
		right bool
	}
	leaving, arriving := map[side][]*lane{}, map[side][]*lane{}
	// A turn further in lies deeper, and its lane further out.
	turns := map[*box]int{}
	below, above := map[int]int{}, map[int]int{}
	turn := func(j *joint, b *box, first, step int, used map[int]int) {
		j.at = b.w/2 - 8 - 8*(turns[b]%3)
		turns[b]++
		j.deep = first + step*(used[b.item.rank]%4)
		used[b.item.rank]++
	}
	for _, n := range l.lanes {
		from, to := n.arrow.from, n.arrow.to
		if n.leave.side = l.outermost(from.item, n.right); n.leave.side {
			leaving[side{from, n.right}] = append(leaving[side{from, n.right}], n)
		} else {
			turn(&n.leave, from, 8, 4, below)
		}
		if n.enter.side = l.outermost(to.item, n.right); n.enter.side {
			arriving[side{to, n.right}] = append(arriving[side{to, n.right}], n)
		} else {
			turn(&n.enter, to, 12, 3, above)
		}
	}
	nearest := func(a, b *lane) int { return cmp.Compare(outward(a.x, a.right), outward(b.x, b.right)) }
	for _, b := range l.boxes {
		for _, right := range []bool{true, false} {
			out, in := leaving[side{b, right}], arriving[side{b, right}]
			slices.SortStableFunc(out, nearest)
			slices.SortStableFunc(in, nearest)
			slices.Reverse(in)
			n := len(out) + len(in) + 1
			for i, at := range out {
				at.leave.at = b.h * (i + 1) / n
			}
			for i, at := range in {
				at.enter.at = b.h * (len(out) + i + 1) / n
			}
		}
	}
}

// turnsAbove says that a lane turns above the first rank.
func (l *layout) turnsAbove() bool {
	return slices.ContainsFunc(l.lanes, func(n *lane) bool {
		return !n.enter.side && n.arrow.to.item.rank == 0
	})
}

// turnsBelow says that a lane turns below the last rank.
func (l *layout) turnsBelow() bool {
	return slices.ContainsFunc(l.lanes, func(n *lane) bool {
		return !n.leave.side && n.arrow.from.item.rank == len(l.ranks)-1
	})
}
