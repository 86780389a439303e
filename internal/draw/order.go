package draw

import (
	"cmp"
	"slices"
)

// order arranges the items of each rank so that few lines cross: every item moves to
// the mean place of its neighbours, rank by rank, down and up, and the best of all
// arrangements seen is kept.
func (l *layout) order() {
	best, crossings := l.places(), l.crossings()
	for turn := 0; turn < 16 && crossings > 0; turn++ {
		if turn%2 == 0 {
			for r := 1; r < len(l.ranks); r++ {
				l.sortRank(r, func(it *item) []*link { return it.up })
			}
		} else {
			for r := len(l.ranks) - 2; r >= 0; r-- {
				l.sortRank(r, func(it *item) []*link { return it.down })
			}
		}
		if n := l.crossings(); n < crossings {
			best, crossings = l.places(), n
		}
	}
	for r, places := range best {
		for i, it := range places {
			l.ranks[r][i] = it
			it.place = i
		}
	}
	for _, b := range l.boxes {
		b.ports()
	}
}

// places is a copy of the arrangement.
func (l *layout) places() [][]*item {
	all := make([][]*item, len(l.ranks))
	for r := range l.ranks {
		all[r] = slices.Clone(l.ranks[r])
	}
	return all
}

// sortRank sorts a rank by the mean place of the neighbours on one side. Items without
// neighbours there stay where they are, as far as the others let them.
func (l *layout) sortRank(r int, links func(*item) []*link) {
	mean := make(map[*item]int, len(l.ranks[r]))
	for _, it := range l.ranks[r] {
		all := links(it)
		if len(all) == 0 {
			mean[it] = it.place * 1024
			continue
		}
		sum := 0
		for _, k := range all {
			sum += k.other(it).place
		}
		mean[it] = sum * 1024 / len(all)
	}
	slices.SortStableFunc(l.ranks[r], func(a, b *item) int { return cmp.Compare(mean[a], mean[b]) })
	for i, it := range l.ranks[r] {
		it.place = i
	}
}

// other is the item at the other end of a link.
func (k *link) other(it *item) *item {
	if k.above == it {
		return k.to
	}
	return k.above
}

// crossings counts the pairs of lines that cross between ranks.
func (l *layout) crossings() int {
	n := 0
	for r := 0; r+1 < len(l.ranks); r++ {
		var ends [][2]int
		for _, it := range l.ranks[r] {
			for _, k := range it.down {
				ends = append(ends, [2]int{it.place, k.to.place})
			}
		}
		slices.SortFunc(ends, func(a, b [2]int) int {
			return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
		})
		// For each line, the earlier ones that end to the right of it, counted in a
		// tree of partial sums.
		tree := make([]int, len(l.ranks[r+1])+1)
		for seen, e := range ends {
			upTo := 0
			for i := e[1] + 1; i > 0; i -= i & -i {
				upTo += tree[i]
			}
			n += seen - upTo
			for i := e[1] + 1; i < len(tree); i += i & -i {
				tree[i]++
			}
		}
	}
	return n
}

// ports spreads the lines that leave and reach a box over its lower and upper side,
// in the order of where they go.
func (b *box) ports() {
	spread := func(links []*link, set func(*link, int)) {
		links = slices.Clone(links)
		it := b.item
		slices.SortFunc(links, func(x, y *link) int {
			return cmp.Or(cmp.Compare(x.other(it).place, y.other(it).place), cmp.Compare(x.edge, y.edge))
		})
		last := len(links) - 1
		if last < 1 {
			return
		}
		step := min(26, (b.w-36)/last)
		for i, k := range links {
			set(k, (2*i-last)*step/2)
		}
	}
	spread(b.item.down, func(k *link, at int) { k.out = at })
	spread(b.item.up, func(k *link, at int) { k.in = at })
}
