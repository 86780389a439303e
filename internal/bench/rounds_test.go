package main

import (
	"strings"
	"testing"
)

func TestFigures(t *testing.T) {
	f := figures{5, 1, 4, 2, 3}
	if f.median() != 3 || f.at(0) != 1 || f.at(1) != 5 || f.at(0.25) != 2 {
		t.Errorf("median %v, least %v, most %v, quartile %v", f.median(), f.at(0), f.at(1), f.at(0.25))
	}
	if r := f.over(figures{5, 2, 2, 2, 2}); r[0] != 1 || r[2] != 2 || len(r) != 5 {
		t.Errorf("ratios %v", r)
	}
	for v, want := range map[float64]string{1234567: "1,234,567", 999: "999", 1000: "1,000"} {
		if got := whole(v); got != want {
			t.Errorf("whole(%v) is %s", v, got)
		}
	}
}

func TestARowSaysWhetherItsTargetIsMet(t *testing.T) {
	for r, want := range map[row]string{
		{what: "a", met: true}:      "| yes |",
		{what: "a"}:                 "| **no** |",
		{what: "a", reported: true}: "| – |",
	} {
		if got := r.line(); !strings.HasSuffix(got, want) || strings.Count(got, "|") != 7 {
			t.Errorf("%s", got)
		}
	}
}
