# Shared by the capture scripts: a throw-away PostgreSQL server, a load of
# clients that reconnect for every transaction, and three samplers.
#
# Sourced, not run. The caller sets OUT (where the capture goes) and WORK (a
# directory for the server that is deleted afterwards) and calls the functions.

set -euo pipefail
export LC_ALL=C TZ=UTC PGTZ=UTC

PGBIN=${PGBIN:-/usr/lib/postgresql/15/bin}
PORT=${PORT:-5499}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PATH=$PGBIN:$PATH PGPORT=$PORT PGHOST=127.0.0.1 PGDATABASE=shop PGCONNECT_TIMEOUT=5

now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
say() { echo "$(now) $*" >&2; }

if [ "$(id -u)" = 0 ]; then
  echo "PostgreSQL refuses to run as root: run this as an ordinary user" >&2
  exit 2
fi

# Every background job is recorded by its process id and ended by that id.
JOBS=()
job() { "$@" & JOBS+=($!); }

cleanup() {
  touch "$WORK/stop" 2>/dev/null || true
  for p in "${JOBS[@]}"; do kill "$p" 2>/dev/null || true; done
  pg_ctl -D "$WORK/data" -m immediate stop >/dev/null 2>&1 || true
  wait 2>/dev/null || true
}

# init_server [WALDIR]: a cluster with one ordinary role, its tables, and the
# settings that both captures share.
init_server() {
  local wal=()
  [ $# -gt 0 ] && wal=(--waldir="$1")
  initdb -D "$WORK/data" -U postgres -A trust -E UTF8 --no-locale "${wal[@]}" >/dev/null
  cat >>"$WORK/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $PORT
unix_socket_directories = ''
max_connections = 20
superuser_reserved_connections = 3
shared_buffers = 32MB
log_timezone = 'UTC'
timezone = 'UTC'
log_line_prefix = '%m [%p] app=%a user=%u '
log_connections = on
log_lock_waits = on
deadlock_timeout = 1s
log_checkpoints = on
CONF
}

start_server() { pg_ctl -D "$WORK/data" -l "$OUT/postgresql.log" -w start >/dev/null; }

# init_tables: the shop role and database, filled by pgbench.
init_tables() {
  psql -qX -U postgres -d postgres -c "CREATE ROLE shop LOGIN" -c "CREATE DATABASE shop OWNER shop"
  PGAPPNAME=setup pgbench -q -i -s 2 -U shop shop 2>/dev/null
}

# worker NAME SCRIPT NUMBER: one client of the application. A transaction is one
# pgbench run (so it reconnects), given up after 5 s, and tried again whatever
# happened after a pause of 2 to 5 s.
worker() {
  local name=$1 script=$2 status began
  RANDOM=$(( $3 * 7919 + 17 ))
  while [ ! -e "$WORK/stop" ]; do
    began=$(now)
    if PGAPPNAME=$name timeout 5 pgbench -n -C -c 1 -t 1 -f "$script" -U shop shop >/dev/null 2>&1; then
      status=ok
    else
      status=failed
    fi
    echo "$began,$name,$status" >>"$WORK/load.$name.$3"
    sleep "$(( 2 + RANDOM % 3 )).$(( RANDOM % 10 ))"
  done
}

# start_load: 24 clients that write and 8 that only read another table.
start_load() {
  local i
  for i in $(seq 1 24); do job worker checkout "$HERE/sql/checkout.sql" "$i"; sleep 0.1; done
  for i in $(seq 25 32); do job worker catalog "$HERE/sql/catalog.sql" "$i"; sleep 0.1; done
}

# sample_activity: pg_stat_activity once a second over one session of a
# superuser, which the reserved slots admit when ordinary sessions are refused.
# When the session is lost, the row says so and another is opened.
sample_activity() {
  echo "ts,pid,application_name,usename,superuser,state,state_seconds,xact_seconds,wait_event_type,wait_event,blocked_by,query,note" >"$OUT/activity.csv"
  local err
  while [ ! -e "$WORK/stop" ]; do
    err=$( { while [ ! -e "$WORK/stop" ]; do cat "$HERE/sql/activity.sql" || break; sleep 1; done 2>/dev/null |
      PGAPPNAME=sampler psql -qXt --csv -v ON_ERROR_STOP=1 -U postgres >>"$OUT/activity.csv"; } 2>&1 | grep -m1 -E 'FATAL|connection|error' | tr -d '"' || true)
    [ -e "$WORK/stop" ] && break
    echo "$(now),,sampler,postgres,t,,,,,,,,\"no sample: ${err:-session lost}\"" >>"$OUT/activity.csv"
    sleep 1
  done
}

# counter FILE GROUP NAME: one counter of /proc/net/snmp or /proc/net/netstat.
counter() {
  awk -v g="$2:" -v n="$3" '$1==g { if (!h) { for (i=2;i<=NF;i++) c[i]=$i; h=1 } else for (i=2;i<=NF;i++) if (c[i]==n) { print $i; exit } }' "/proc/net/$1"
}

# sample_network: once a second, the time of one TCP connect to the server's
# port, the round trip the kernel measured on the server's live connections
# (median, from ss), and the growth of three error counters since the last row.
sample_network() {
  echo "ts,connect_ms,rtt_ms,connections,retransmits,listen_overflows,resets_sent,error" >"$OUT/network.csv"
  local r0 l0 s0 r1 l1 s1 a b ms err rtt n
  r0=$(counter snmp Tcp RetransSegs); l0=$(counter netstat TcpExt ListenOverflows); s0=$(counter snmp Tcp OutRsts)
  while [ ! -e "$WORK/stop" ]; do
    sleep 1
    a=$EPOCHREALTIME; err=
    if { exec 9<>"/dev/tcp/127.0.0.1/$PORT"; } 2>/dev/null; then
      b=$EPOCHREALTIME; exec 9>&-
      ms=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f", (b-a)*1000 }')
    else
      ms=; err="connect refused"
    fi
    read -r n rtt < <(ss -Htin "( sport = :$PORT )" 2>/dev/null | grep -o ' rtt:[0-9.]*' | cut -d: -f2 | sort -n |
      awk '{ v[NR]=$1 } END { if (NR) print NR, v[int((NR+1)/2)]; else print 0, "" }') || true
    r1=$(counter snmp Tcp RetransSegs); l1=$(counter netstat TcpExt ListenOverflows); s1=$(counter snmp Tcp OutRsts)
    echo "$(now),$ms,$rtt,$n,$((r1-r0)),$((l1-l0)),$((s1-s0)),$err" >>"$OUT/network.csv"
    r0=$r1 l0=$l1 s0=$s1
  done
}

write_settings() {
  PGAPPNAME=settings psql -qX --csv -U postgres -f "$HERE/sql/settings.sql" >"$OUT/settings.csv"
}

# keep: the files as they stand now, while the outage lasts; then the load and the
# samplers end, the alert is written and the server goes.
keep() {
  mkdir "$WORK/keep"
  cp "$OUT/postgresql.log" "$OUT/activity.csv" "$OUT/network.csv" "$WORK/keep"
  touch "$WORK/stop"
  sleep 1.5
  write_alert
  cleanup
  cp "$WORK"/keep/* "$OUT"
  chmod a+r "$OUT"/*
  say "done: $OUT"
}

# write_alert: what a monitor of the load would say. It knows only how many
# transactions failed, and when: the first ten seconds in which at least half of
# all transactions did.
write_alert() {
  cat "$WORK"/load.*.* | sort | awk -F, '
    function secs(t) { split(substr(t, 12, 8), p, ":"); return p[1]*3600 + p[2]*60 + p[3] }
    { n++; at[n]=$1; s[n]=secs($1); name[n]=$2; bad[n]=($3=="failed") }
    END {
      for (i=1; i<=n && !start; i++) {
        if (!bad[i]) continue
        f=0; t=0
        for (j=i; j<=n && s[j]<s[i]+10; j++) { t++; f+=bad[j] }
        if (t>=5 && f*2>=t) start=i
      }
      if (!start) { print "no alert: the load never failed for ten seconds" > "/dev/stderr"; exit 1 }
      for (i=start; i<=n; i++) { tot[name[i]]++; fail[name[i]]+=bad[i] }
      for (i=1; i<start; i++) { t0++; f0+=bad[i] }
      printf "The shop database does not serve its applications since %sZ.\n", substr(at[start],1,19)
      split("checkout catalog", names, " ")
      for (k=1; k<=2; k++) { w=names[k]; printf "%s: %d%% of transactions failed until %sZ (%d of %d).\n", w, 100*fail[w]/tot[w], substr(at[n],1,19), fail[w], tot[w] }
      printf "Before that: %d%% failed (%d of %d).\n", t0 ? 100*f0/t0 : 0, f0, t0
    }' >"$OUT/alert.txt"
}
