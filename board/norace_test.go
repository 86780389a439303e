//go:build !race

package board_test

// slowed says that the race detector is at work.
const slowed = false
