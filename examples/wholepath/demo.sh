#!/usr/bin/env bash
# The whole path: two replicas behind HAProxy, each of them bytes -> aio -> httpd -> httpgate -> handler -> fastc, with a recorder and
# metrics, under load for a moment, and then until Ctrl-C. With -nethttp the replicas are served by net/http alone.
#
# LENGTH (20s) is how long the load lasts. PORT and BIN are those of replicas.sh.
set -eu -m
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
service=wholepath
. examples/internal/replicas.sh

for name in a_page b_page; do free "$name"; done
gate=(-gate=drain -turns "$dir/turn" -replicas 2)
replica a "${served[@]}" -addr "127.0.0.1:$A_PORT" -admin "127.0.0.1:$a_page" "${gate[@]}" -haproxy "127.0.0.1:$ADMIN_PORT,be/a"
replica b "${served[@]}" -addr "127.0.0.1:$B_PORT" -admin "127.0.0.1:$b_page" "${gate[@]}" -haproxy "127.0.0.1:$ADMIN_PORT,be/b"
balance

url=http://127.0.0.1:$LISTEN_PORT/report
echo "two replicas, ports $A_PORT and $B_PORT, answer behind HAProxy at $url"
echo "why they are slow: http://127.0.0.1:$a_page/debug/evenkeel/ and http://127.0.0.1:$b_page/debug/evenkeel/"
echo "metrics: http://127.0.0.1:$a_page/metrics and http://127.0.0.1:$b_page/metrics; gates: http://127.0.0.1:$A_PORT/debug/gate"
load -rate 500 -z "${LENGTH:-20s}" "$url"
for port in "$a_page" "$b_page"; do
  echo "of the metrics at port $port:"
  page "$port" /metrics |
    grep -E '^(evenkeel_gate_(requests_total|collections_total\{reason="trigger"\}|overlapped_requests_total)|go_goroutines|process_resident_memory_bytes)'
done
echo "they serve until Ctrl-C"
wait
