#!/usr/bin/env bash
# The whole path: two replicas behind HAProxy, each of them bytes -> aio -> httpd -> httpgate -> handler -> fastc, with a recorder and
# metrics, under load for a moment, and then until Ctrl-C. With -nethttp the replicas are served by net/http alone.
#
# LENGTH (20s) is how long the load lasts, PORT (5200) where it looks for free ports from, and BIN the folder of evenkeel and
# wholepath, if they are built.
set -eu -m # -m: a process group for each child, so that Ctrl-C is this script's alone, and each ends once
cd "$(dirname "$0")/../.."

served=()
for arg in "$@"; do
  case $arg in
  -nethttp) served=(-nethttp) ;;
  *)
    echo "usage: demo.sh [-nethttp]" >&2
    exit 2
    ;;
  esac
done
if [ "$(uname -s)" != Linux ] || ! command -v haproxy >/dev/null; then
  echo "two replicas behind a balancer need Linux and HAProxy (sudo apt-get install haproxy)" >&2
  exit 1
fi
bin=${BIN:-bin}
if [ -z "${BIN:-}" ]; then
  go build -o bin/ ./cmd/evenkeel
  (cd examples && go build -o ../bin/ ./wholepath)
fi

dir=$(mktemp -d)
running=() # in the order in which they end: replicas tell HAProxy
end() {
  trap '' INT TERM
  for pid in "${running[@]}"; do
    { kill "$pid" && wait "$pid"; } 2>/dev/null || true # how it ends says nothing
  done
  rm -rf "$dir"
}
trap end EXIT
trap 'exit 0' INT TERM # which is how it ends

# free sets the variable of this name to the next port on which nothing listens.
port=${PORT:-5200}
free() {
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  printf -v "$1" %s "$port"
  port=$((port + 1))
}
for name in LISTEN_PORT ADMIN_PORT A_PORT B_PORT a_page b_page; do free "$name"; done
export LISTEN_PORT ADMIN_PORT A_PORT B_PORT

# until_it "what" command...: repeats the command until it succeeds, for half a minute at most.
until_it() {
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" 2>/dev/null; then return; fi
    sleep 0.1
  done
  echo "$what: not within half a minute" >&2
  cat "$dir"/*.log >&2
  exit 1
}
accepts() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

replica() { # name, port, port of its page
  "$bin/wholepath" "${served[@]}" -addr "127.0.0.1:$2" -admin "127.0.0.1:$3" \
    -gate=drain -haproxy "127.0.0.1:$ADMIN_PORT,be/$1" -turns "$dir/turn" -replicas 2 >"$dir/$1.log" 2>&1 &
  running+=($!)
}
replica a "$A_PORT" "$a_page"
replica b "$B_PORT" "$b_page"
for name in a b; do until_it "replica $name listens" grep -q msg=listening "$dir/$name.log"; done
haproxy -db -f deploy/haproxy/runtime-api.cfg >"$dir/haproxy.log" 2>&1 &
running+=($!)
until_it "HAProxy listens" accepts "$LISTEN_PORT"

url=http://127.0.0.1:$LISTEN_PORT/report
echo "two replicas, ports $A_PORT and $B_PORT, answer behind HAProxy at $url"
echo "why they are slow: http://127.0.0.1:$a_page/debug/evenkeel/ and http://127.0.0.1:$b_page/debug/evenkeel/"
echo "metrics: http://127.0.0.1:$a_page/metrics and http://127.0.0.1:$b_page/metrics; gates: http://127.0.0.1:$A_PORT/debug/gate"
"$bin/evenkeel" load -rate 500 -z "${LENGTH:-20s}" "$url" &
running=($! "${running[@]}")
wait $! || true # it has said why
running=("${running[@]:1}")
for page in "$a_page" "$b_page"; do
  echo "of the metrics at port $page:"
  exec 3<>"/dev/tcp/127.0.0.1/$page"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  grep -E '^(evenkeel_gate_(requests_total|collections_total\{reason="trigger"\}|overlapped_requests_total)|go_goroutines|process_resident_memory_bytes)' <&3
  exec 3>&-
done
echo "they serve until Ctrl-C"
wait
