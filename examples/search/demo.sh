#!/usr/bin/env bash
# The study's four ways to run the search service, side by side: what needless allocation
# costs, and what switching the collector off does. make demo builds and runs this.
set -eu
cd "$(dirname "$0")/../.."

requests=10000
# With GOGC=off the service keeps all that it allocates: about 450 KB a request.
available=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo 2>/dev/null || true)
if [ -n "$available" ] && [ "$available" -lt 6144 ]; then
  requests=$((available * 10000 / 6144))
  echo "only $available MiB of memory are available: $requests requests a run instead of 10000" >&2
fi

port=5000
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  port=$((port + 1))
done

mkdir -p demo
bin/evenkeel run \
  -url "http://127.0.0.1:$port/search?term=president&cnn=on&bbc=on&nyt=on" -m POST \
  -n "$requests" -c 100 -warmup 500ms -o demo/run.json -html demo/page.html \
  -variant 'default:' \
  -variant 'GOGC=off: GOGC=off' \
  -variant 'lean: -alloc=lean' \
  -variant 'lean, GOGC=off: GOGC=off -alloc=lean' \
  -- bin/search -addr "127.0.0.1:$port"
