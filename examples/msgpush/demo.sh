#!/usr/bin/env bash
# Two replicas with 300 MB each behind HAProxy: the stock runtime, then gated. make demo builds
# and runs this.
set -eu
cd "$(dirname "$0")/../.."

if [ "$(uname -s)" != Linux ]; then
  echo "the demo of two replicas needs Linux; skipped" >&2
  exit 0
fi
if ! command -v haproxy >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "installing haproxy (Debian package), the balancer of the demo"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends haproxy; } >/dev/null 2>&1 ||
    echo "haproxy could not be installed; going on without it" >&2
fi
mkdir -p demo
(cd bench && ../bin/gate -demo ../demo)
bin/evenkeel compare -events demo/gate-events.ndjson -html demo/gate.html demo/gate.json
