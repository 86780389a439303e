#!/usr/bin/env bash
# Cuts twenty seconds out of a capture, those before the instant that its alert
# names: the same server with nothing wrong.
#
#   inputs/slice.sh CAPTURE OUT
set -euo pipefail
export LC_ALL=C
in=${1:?usage: slice.sh CAPTURE OUT}
out=${2:?usage: slice.sh CAPTURE OUT}
mkdir -p "$out"
onset=$(grep -m1 -o '[0-9-]*T[0-9:]*Z' "$in/alert.txt")
begin=$(date -u -d "$onset - 20 seconds" +%Y-%m-%dT%H:%M:%SZ)
for table in activity.csv network.csv; do
  awk -F, -v a="${begin%Z}" -v b="${onset%Z}" 'NR==1 || ($1 >= a && $1 < b)' "$in/$table" >"$out/$table"
done
awk -v a="${begin%Z}" -v b="${onset%Z}" '{ t = $1"T"$2 } t >= a && t < b' "$in/postgresql.log" >"$out/postgresql.log"
cp "$in/settings.csv" "$out"
echo "No alert: the twenty seconds before $onset, in which nothing failed." >"$out/alert.txt"
