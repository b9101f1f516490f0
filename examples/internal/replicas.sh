# What the demos share that run two replicas behind HAProxy. They source it at the top of the repository, with set -eu -m. A
# process group for each child (-m) leaves Ctrl-C to the script alone, so that each child ends once.
#
# PORT (5200) is where free ports are looked for from, and BIN the folder of evenkeel and the service, if they are built.

PATH=$PATH:/usr/sbin # where HAProxy is
if [ "$(uname -s)" != Linux ] || ! command -v haproxy >/dev/null; then
  echo "two replicas behind a balancer need Linux and HAProxy (sudo apt-get install haproxy)" >&2
  exit 1
fi
bin=${BIN:-bin}
if [ -z "${BIN:-}" ]; then
  go build -o bin/ ./cmd/evenkeel
  (cd examples && go build -o ../bin/ "./$service")
fi

dir=$(mktemp -d)
running=() # in the order in which they end: replicas tell HAProxy
stop() {
  for pid in "${running[@]}"; do
    { kill "$pid" && wait "$pid"; } 2>/dev/null || true # how it ends says nothing
  done
  running=()
}
end() {
  trap '' INT TERM
  stop
  rm -rf "$dir"
}
trap end EXIT
trap 'exit 0' INT TERM # which is how it ends

# free sets the variable of this name to the next port on which nothing listens.
port=${PORT:-5200}
free() {
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  printf -v "$1" %s "$port"
  port=$((port + 1))
}
for name in LISTEN_PORT ADMIN_PORT A_PORT B_PORT; do free "$name"; done
export LISTEN_PORT ADMIN_PORT A_PORT B_PORT

# until_it "what" command...: repeats the command until it succeeds, for half a minute at most.
until_it() {
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" 2>/dev/null; then return; fi
    sleep 0.1
  done
  echo "$what: not within half a minute" >&2
  cat "$dir"/*.log >&2
  exit 1
}
accepts() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

# replica name flag...: starts a, or b. HAProxy and the client run first, because they represent other machines.
replica() {
  local name=$1
  shift
  nice -n 10 "$bin/$service" "$@" >"$dir/$name.log" 2>&1 &
  running+=($!)
}

# balance waits for the replicas, and starts HAProxy in front of them.
balance() {
  for name in a b; do until_it "replica $name listens" grep -q msg=listening "$dir/$name.log"; done
  haproxy -db -f deploy/haproxy/runtime-api.cfg >"$dir/haproxy.log" 2>&1 &
  running+=($!)
  until_it "HAProxy listens" accepts "$LISTEN_PORT"
}

# load flag...: loads with evenkeel.
load() {
  "$bin/evenkeel" load "$@" &
  running=($! "${running[@]}")
  wait $! || true # it has said why
  running=("${running[@]:1}")
}

# page port path: prints an answer.
page() {
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
  cat <&3
  exec 3>&-
}
