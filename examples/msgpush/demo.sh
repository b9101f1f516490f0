#!/usr/bin/env bash
# Two replicas with 300 MB each behind HAProxy: collecting under live traffic, then gated. make demo-haproxy runs this.
#
# LENGTH (20s) is how long each of them is measured, WARMUP (12s) the load before that, in which the memory of the replicas
# is taken from the system. RATE (1000) is in requests/s, WINDOW (300000) is the messages that live, and OUT (demo) is the folder
# of the results. PORT and BIN are those of replicas.sh.
set -eu -m
cd "$(dirname "$0")/../.."
service=msgpush
. examples/internal/replicas.sh
out=${OUT:-demo}
mkdir -p "$out"
rm -f "$out/live.json" "$out/gated.json" # a load that fails leaves none
: >"$out/gate-events.ndjson"
export GOMAXPROCS=1

# measure label file flag...: the replicas have these flags; @ stands for their names.
measure() {
  local label=$1 file=$2
  shift 2
  for name in a b; do
    local port=A_PORT
    if [ "$name" = b ]; then port=B_PORT; fi
    replica "$name" -addr "127.0.0.1:${!port}" -window "${WINDOW:-300000}" -events "$dir/$name.events" "${@//@/$name}"
  done
  balance
  GOMAXPROCS='' load -quiet -rate "${RATE:-1000}" -warmup "${WARMUP:-12s}" -z "${LENGTH:-20s}" \
    -label "$label" -o "$out/$file" -pprof off "http://127.0.0.1:$LISTEN_PORT/push" >"$dir/load.log"
  for port in "$A_PORT" "$B_PORT"; do
    echo "$label, the replica at port $port: $(page "$port" '/debug/gate' |
      grep -oE '"(Entered|Overlapped|OverlappedOther)": ?[0-9]+' | tr -d '" ' | paste -sd' ')"
  done
  stop
  for name in a b; do
    sed "s/\"source\":\"[^\"]*\"/\"source\":\"$label, replica $name\"/" "$dir/$name.events" >>"$out/gate-events.ndjson"
  done
}
measure "live traffic" live.json -gate=through -no-turns
measure gated gated.json -gate=drain -haproxy "127.0.0.1:$ADMIN_PORT,be/@" -turns "$dir/turn" -replicas 2
"$bin/evenkeel" compare -events "$out/gate-events.ndjson" -html "$out/gate.html" "$out/live.json" "$out/gated.json"
