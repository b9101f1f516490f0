#!/usr/bin/env bash
# The four ways of the study in docs/gctrace.md to run the search service: what needless
# allocation costs, and what switching the collector off does.
set -eu
cd "$(dirname "$0")/../.."
go build -o bin/ ./cmd/evenkeel
(cd examples && go build -o ../bin/ ./search)

# With GOGC=off the service keeps all that it allocates: 426 KiB a request, 4.3 GiB in all.
# What is available is the least that the machine and the control group say.
requests=10000
available=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo 2>/dev/null || true)
most=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
used=$(cat /sys/fs/cgroup/memory.current 2>/dev/null || true)
if [[ $most =~ ^[0-9]+$ && $used =~ ^[0-9]+$ ]]; then
  left=$(((most - used) / 1048576))
  if [ -z "$available" ] || [ "$left" -lt "$available" ]; then available=$left; fi
fi
if [ -z "$available" ]; then
  echo "how much memory is available is not known here; the study takes 6 GiB" >&2
elif [ "$available" -lt 6144 ]; then
  requests=$(((available - 512) * 10000 / 6144)) # the rest is warm-up and the programs themselves
  if [ "$requests" -lt 500 ]; then
    echo "the study needs 1 GiB of available memory; there are $available MiB" >&2
    exit 1
  fi
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
