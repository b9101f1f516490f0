#!/usr/bin/env bash
# run_once.sh REQUESTS CONCURRENCY SIZE LOOP: load the fastcserver that runs in another terminal, print what
# its clients and its handlers take, and a histogram of the handlers.
#
#   bash tests/run_once.sh 200 10 62 2
#
# SERVER is its address, 127.0.0.1:8080 when it is not set.
set -eu
cd "$(dirname "$0")/once"
exec env GOWORK=off go run . -server "${SERVER:-127.0.0.1:8080}" "$@"
