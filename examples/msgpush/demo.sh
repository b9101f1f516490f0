#!/usr/bin/env bash
# Two replicas with 300 MB each behind HAProxy: collecting under live traffic, then gated.
# make demo-haproxy runs this.
set -eu
cd "$(dirname "$0")/../.."

PATH=$PATH:/usr/sbin # where HAProxy is
if [ "$(uname -s)" != Linux ] || ! command -v haproxy >/dev/null; then
  echo "make demo-haproxy needs Linux and HAProxy (sudo apt-get install haproxy)" >&2
  exit 1
fi
go build -o bin/ ./cmd/evenkeel
(cd bench && go run ./gate/demo ../demo)
bin/evenkeel compare -events demo/gate-events.ndjson -html demo/gate.html demo/gate.json
