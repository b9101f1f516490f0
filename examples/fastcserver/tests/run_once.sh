#!/usr/bin/env bash
# run_once.sh REQUESTS CONCURRENCY SIZE LOOP: drive every endpoint of fastcserver once with
# ApacheBench for a table, then /cgo and /blockcall with evenkeel load for two pictures: of what
# their clients wait for (ab's own data for each request are whole milliseconds), and of what the
# handlers took, from the server's access log.
#
#   tests/run_once.sh 10000 10 62 2
#
# The server has the first half of the cores and the clients the rest, where taskset can say so;
# SHARED=1 lets them share all. OUT is the folder of the pictures, their data and the server's log
# (demo/fastcserver), BIN the one of the programs (bin); those that are missing are built.
#
# SERVER=127.0.0.1:8080 drives a server that runs already, in another terminal, on the cores that it
# was given there; LOG is the file that its standard output goes to, for the second picture.
set -euo pipefail

usage() {
  echo "run_once.sh: $1" >&2
  echo "usage: tests/run_once.sh REQUESTS CONCURRENCY SIZE LOOP, such as 10000 10 62 2" >&2
  exit 2
}

[ $# -eq 4 ] || usage "$# arguments, want 4"
for n in "$@"; do
  [[ $n =~ ^[1-9][0-9]{0,8}$ ]] || usage "\"$n\" is no number from 1 to 999999999"
done
requests=$1 connections=$2 size=$3 loop=$4
[ "$requests" -ge 100 ] || usage "$requests requests have no 99th percentile: ask for at least 100"
[ "$connections" -le "$requests" ] || usage "$connections connections for $requests requests: ask for at least one each"
if ! command -v ab >/dev/null; then
  echo "run_once.sh: no ab: install ApacheBench, on Debian: apt-get install apache2-utils" >&2
  exit 1
fi

caller=$PWD
cd "$(dirname "$0")/../../.."
top=$PWD
absolute() { case $1 in /*) echo "$1" ;; *) echo "$caller/$1" ;; esac; }
bin=$(absolute "${BIN:-$top/bin}")
out=$(absolute "${OUT:-$top/demo/fastcserver}")
tmp=$(mktemp -d)
server='' child=''

finish() {
  status=$?
  trap - EXIT INT TERM
  for pid in $child $server; do
    kill "$pid" && wait "$pid" || true
  done 2>/dev/null
  rm -rf "$tmp"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# during COMMAND...: run it so that a signal ends the script at once, and it with it.
during() {
  "$@" &
  child=$!
  wait "$child"
  child=''
}

# build NAME MODULE PACKAGE: unless it is there.
build() {
  [ -x "$bin/$1" ] || during env GOWORK=off go -C "$2" build -o "$bin/$1" "$3"
}
mkdir -p "$bin" "$out"
[ -n "${SERVER:-}" ] || build fastcserver examples ./fastcserver
build evenkeel . ./cmd/evenkeel
build fastcplot bench ./fastc/plot

# Cores: a client beside the server on one core takes the time that it measures.
on_server=() on_clients=() cores='all cores shared by server and clients'
if [ -z "${SHARED:-}" ] && command -v taskset >/dev/null; then
  mine=$(taskset -pc $$ | sed 's/.*: //')
  list=()
  for range in ${mine//,/ }; do
    for ((c = ${range%-*}; c <= ${range#*-}; c++)); do list+=("$c"); done
  done
  half=$((${#list[@]} / 2))
  if [ $half -ge 1 ]; then
    first=$(IFS=,; echo "${list[*]:0:half}") rest=$(IFS=,; echo "${list[*]:half}")
    on_server=(taskset -c "$first") on_clients=(taskset -c "$rest")
    cores="server on core $first, clients on $rest"
  fi
fi

# reachable: whether something listens at $addr.
reachable() { (exec 3<>"/dev/tcp/${addr%:*}/${addr##*:}") 2>/dev/null; }

if [ -n "${SERVER:-}" ]; then
  addr=$SERVER log=${LOG:+$(absolute "$LOG")}
  [[ $addr =~ ^[^:/]+:[0-9]+$ ]] || usage "SERVER=$addr is no HOST:PORT"
  [ -z "$log" ] || [ -r "$log" ] || usage "LOG=$log cannot be read"
  if ! reachable; then
    echo "run_once.sh: nothing listens at $addr: start it, from examples/: go run ./fastcserver -addr $addr | tee server.log" >&2
    exit 1
  fi
  on_clients=() cores="the server at $addr, on the cores that it was given"
else
  log=$out/server.log addr=''
  : >"$log" # the server makes it when it starts, and it is read now
  ${on_server[@]+"${on_server[@]}"} "$bin/fastcserver" -addr 127.0.0.1:0 >>"$log" 2>"$tmp/server.err" &
  server=$!
  for _ in {1..600}; do
    addr=$(sed -n 's/.*msg=listening url=http:\/\/\([^ ]*\).*/\1/p' "$log")
    [ -z "$addr" ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep .1
  done
  if [ -z "$addr" ]; then
    echo "run_once.sh: the server does not listen: $(cat "$tmp/server.err")" >&2
    exit 1
  fi
fi

# get PATH: the answer to one request, with its headers.
get() {
  exec 3<>"/dev/tcp/${addr%:*}/${addr##*:}"
  printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
  cat <&3
  exec 3>&-
}

answer=$(get "/blockcall/$size/$loop")
if [[ $answer != HTTP/1.*\ 200\ * ]]; then
  echo "run_once.sh: /blockcall/$size/$loop: ${answer##*$'\n'}" >&2
  exit 2
fi

echo "$requests requests a line, $connections connections; $cores"
row='%-24s %12s %9s %9s %9s %9s %7s\n'
# shellcheck disable=SC2059
printf "$row" endpoint requests/s 'mean ms' p50 p99 max failed
for path in "/cgo/$size/$loop" "/blockcall/$size/$loop" "/adaptive/$size/$loop" "/go/$size/$loop" /many/cgo /many/fast; do
  if ! during ${on_clients[@]+"${on_clients[@]}"} ab -k -q -n "$requests" -c "$connections" -e "$tmp/ab.csv" "http://$addr$path" >"$tmp/ab.txt" 2>"$tmp/ab.err"; then
    echo "run_once.sh: ab $path: $(cat "$tmp/ab.err")" >&2
    exit 1
  fi
  rate=$(awk '/^Requests per second/ {print $4}' "$tmp/ab.txt")
  mean=$(awk '/^Time per request/ {print $4; exit}' "$tmp/ab.txt")
  failed=$(awk '/^Failed requests/ {n += $3} /^Non-2xx responses/ {n += $3} END {print n + 0}' "$tmp/ab.txt")
  percentile() { awk -F, -v p="$1" '$1 == p {print $2}' "$tmp/ab.csv"; }
  # shellcheck disable=SC2059
  printf "$row" "$path" "$rate" "$mean" "$(percentile 50)" "$(percentile 99)" "$(percentile 100)" "$failed"
done

adaptive=$(get /stats)
adaptive=${adaptive##*$'\n'}
if [[ $adaptive != *'"diversions":0,'* ]]; then
  echo "/adaptive exceeded its budget and went through cgo at times: $adaptive"
fi

# load FILE LABEL PATH: a part of the same load as ab's, every latency kept.
load() {
  during ${on_clients[@]+"${on_clients[@]}"} "$bin/evenkeel" load -c "$connections" -n $((requests / rounds + 1)) -warmup 300ms \
    -label "$2" -o "$1" "http://$addr$3" >"$tmp/load.txt" 2>&1 || { cat "$tmp/load.txt" >&2; exit 1; }
}
rounds=5 # in turn, so that what else the machine does falls on both
rm -f "$out"/{cgo,blockcall}-*.json
from=$(wc -c <"${log:-/dev/null}") # what handlers took with ab's requests is not in the picture
for ((round = 1; round <= rounds; round++)); do
  load "$out/cgo-$round.json" 'ordinary cgo' "/cgo/$size/$loop"
  load "$out/blockcall-$round.json" fastc "/blockcall/$size/$loop"
done
during "$bin/fastcplot" -o "$out/latency.png" \
  -title "$connections clients, $size x $size matrices, $loop times: $cores" "$out"/{cgo,blockcall}-*.json
echo "histogram and CCDF of /cgo and /blockcall, as clients see them: ${out#"$caller/"}/latency.png"
if [ -n "$log" ]; then
  tail -c "+$((from + 1))" "$log" >"$tmp/handlers.log"
  during "$bin/fastcplot" -o "$out/handlers.png" -only "/cgo/$size/$loop,/blockcall/$size/$loop" \
    -title "What the handlers took: $connections clients, $size x $size matrices, $loop times" "$tmp/handlers.log"
  echo "of what the handlers took, by the access log: ${out#"$caller/"}/handlers.png"
else
  echo "LOG is not set, so there is no picture of what the handlers took"
fi
