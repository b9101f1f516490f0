#!/usr/bin/env bash
# Why the slowest requests of the search service are slow: the load of demo.sh for a moment, then
# an execution trace of the same load. make demo builds and runs this.
set -eu
cd "$(dirname "$0")/../.."

port=5000
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  port=$((port + 1))
done

mkdir -p demo
bin/evenkeel run \
  -url "http://127.0.0.1:$port/search?term=president&cnn=on&bbc=on&nyt=on" -m POST \
  -n 2000 -c 100 -warmup 500ms -explain-html demo/explain.html \
  -- bin/search -addr "127.0.0.1:$port"
