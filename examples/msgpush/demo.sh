#!/usr/bin/env bash
# Two replicas with 300 MB each behind HAProxy: the stock runtime, then gated. make demo builds
# and runs this.
set -eu
cd "$(dirname "$0")/../.."

if [ "$(uname -s)" != Linux ]; then
  echo "the demo of two replicas needs Linux; skipped" >&2
  exit 0
fi
.ci/setup haproxy || echo "going on without haproxy, the balancer of the demo" >&2
mkdir -p demo
(cd bench && ../bin/gate -demo ../demo)
bin/evenkeel compare -events demo/gate-events.ndjson -html demo/gate.html demo/gate.json
