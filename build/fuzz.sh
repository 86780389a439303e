#!/bin/sh
# fuzz.sh TIME : runs every fuzz target of the module for TIME, one after the other,
# and stops at the first finding. The go command keeps what it found under the
# package's testdata/fuzz; commit that file with the fix, and it is a test from then on.
set -eu
time=${1:?how long each target is to run, such as 30s}
targets=$(grep -rhoE --include='*_test.go' --exclude-dir=testdata '^func Fuzz[A-Za-z0-9_]+' . | wc -l)
[ "$targets" -gt 0 ] || { echo "fuzz: no fuzz target was found" >&2; exit 1; }
grep -rlE --include='*_test.go' --exclude-dir=testdata '^func Fuzz' . | sort | while read -r file; do
	sed -nE 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/p' "$file" | while read -r name; do
		echo "fuzz: $(dirname "$file") $name for $time"
		go test "$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "$time" </dev/null
	done
done
echo "fuzz: $targets targets, $time each: nothing found"
