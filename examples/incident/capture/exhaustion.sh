#!/usr/bin/env bash
# Captures a connection exhaustion: about two minutes, of which the first is
# healthy. Then a schema change takes its lock and its session stays idle in the
# open transaction.
#
#   capture/exhaustion.sh OUT
#
# Needs PostgreSQL 15 (PGBIN), bash 5, ss and awk, and a user other than root.
# PORT, HEALTHY and FAULT (seconds) may be set.
OUT=${1:?usage: exhaustion.sh OUT}
mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd)
WORK=$(mktemp -d /tmp/capture.XXXXXX)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
HEALTHY=${HEALTHY:-50} FAULT=${FAULT:-70}
trap 'cleanup; rm -rf "$WORK"' EXIT

init_server
start_server
init_tables
pg_ctl -D "$WORK/data" -m fast stop >/dev/null
rm "$OUT/postgresql.log"
start_server
write_settings
say "healthy for $HEALTHY s"
job sample_activity
job sample_network
start_load
sleep "$HEALTHY"

say "the schema change begins and is not finished"
migrate() {
  { echo "BEGIN; ALTER TABLE pgbench_accounts ADD COLUMN note text;"
    while [ ! -e "$WORK/stop" ]; do sleep 1; done; } |
    PGAPPNAME=schema-change psql -qX -U shop
}
job migrate
sleep "$FAULT"
keep
