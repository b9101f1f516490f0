#!/usr/bin/env bash
# run_once.sh REQUESTS CONCURRENCY SIZE LOOP: load each path of the fastcserver that runs in another terminal.
#
#   bash tests/run_once.sh 200 10 62 2
#
# SERVER is its address, 127.0.0.1:8080 when it is not set.
set -eu
if [ $# -ne 4 ]; then
  echo "usage: tests/run_once.sh REQUESTS CONCURRENCY SIZE LOOP, such as 200 10 62 2" >&2
  exit 2
fi
cd "$(dirname "$0")/../../.."
for path in "cgo/$3/$4" "blockcall/$3/$4" "yield/$3/$4" "go/$3/$4" many/cgo many/fast; do
  GOWORK=off go run ./cmd/evenkeel load -n "$1" -c "$2" "http://${SERVER:-127.0.0.1:8080}/$path" ||
    { echo "start the server in another terminal, from examples/: go run ./fastcserver" >&2; exit 1; }
done
