#!/usr/bin/env bash
# A live service that says why it is slow: a minute of load on one with two planted causes, a lock that a function in the
# background holds and a sleep, and with the recorder. make demo builds and runs this, as its last step: on a terminal the page
# stays until Enter.
set -eu
cd "$(dirname "$0")/../.."

mkdir -p demo
log=demo/recorder.log
bin/recorder/plant -addr 127.0.0.1:0 -third 1h -every 2s -recorder-cpu 1 >"$log" 2>&1 &
plant=$!
trap 'kill "$plant" 2>/dev/null || true; wait "$plant" || true' EXIT

# It says where it listens, and its page's address in the line before.
url=
for _ in $(seq 300); do
  url=$(sed -n 's/.*msg=listening url=//p' "$log")
  if [ -n "$url" ] || ! kill -0 "$plant" 2>/dev/null; then break; fi
  sleep 0.1
done
if [ -z "$url" ]; then
  echo "the service with planted causes did not start:" >&2
  cat "$log" >&2
  exit 1
fi
page=$url/debug/evenkeel/

echo
echo "a service with two planted causes, for a minute: see why it is slow at $page"
bin/evenkeel load -rate 200 -z 60s "$url/" >/dev/null
bin/evenkeel top -once "$page"
bin/evenkeel report -title "planted causes" -html demo/recorder.html "$page"
echo "demo/recorder.html is what $page shows"
if [ -t 0 ] && [ -t 1 ]; then
  read -r -p "the page is live at $page until you press Enter " || true
fi
