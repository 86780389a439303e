#!/usr/bin/env bash
# Captures a write-ahead log volume that fills up: a replication slot that nobody
# reads keeps every segment, an import writes, the volume is full, the server
# stops and is started again by its supervisor, over and over.
#
#   capture/wal-volume.sh OUT VOLUME
#
# VOLUME is an empty directory on a file system of its own of about 128 MB, for
# instance (as root): mount -t tmpfs -o size=128m,mode=1777 tmpfs /mnt/wal
# Needs PostgreSQL 15 (PGBIN), bash 5, ss and awk, and a user other than root.
# PORT, HEALTHY and FAULT (seconds) may be set.
OUT=${1:?usage: wal-volume.sh OUT VOLUME}
VOLUME=${2:?usage: wal-volume.sh OUT VOLUME}
mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd)
WORK=$(mktemp -d /tmp/capture.XXXXXX)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
HEALTHY=${HEALTHY:-50} FAULT=${FAULT:-70}
trap 'cleanup; rm -rf "$WORK" "$VOLUME/wal"' EXIT

init_server "$VOLUME/wal"
cat >>"$WORK/data/postgresql.conf" <<CONF
max_wal_size = 32MB
min_wal_size = 32MB
CONF
start_server
init_tables
psql -qX -U postgres -c "SELECT pg_create_physical_replication_slot('standby_2', true)" >/dev/null
pg_ctl -D "$WORK/data" -m fast stop >/dev/null
rm "$OUT/postgresql.log"
start_server
write_settings
say "healthy for $HEALTHY s"
job sample_activity
job sample_network
start_load
sleep "$HEALTHY"

say "the import begins"
import() {
  while [ ! -e "$WORK/stop" ]; do
    PGAPPNAME=import psql -qX -U shop -c "INSERT INTO pgbench_history SELECT 1, 1, g, g, now(), 'import' FROM generate_series(1, 60000) g" 2>/dev/null || true
    sleep 1
  done
}
# What a service manager does: start the server again when it has gone.
supervise() {
  while [ ! -e "$WORK/stop" ]; do
    pg_ctl -D "$WORK/data" status >/dev/null 2>&1 || pg_ctl -D "$WORK/data" -l "$OUT/postgresql.log" -W start >/dev/null 2>&1 || true
    sleep 5
  done
}
job import
job supervise
sleep "$FAULT"
keep
