#!/bin/sh
# Makes the logs beside this file anew: the program in gen/, built by each Go release and
# run under the GODEBUG settings that print lines among which gctrace's stand. Then
# `go test ./gctrace -update` writes the .json files; read their difference.
# Needs the network once, for toolchains that are not in the module cache.
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

local_version=$(cd gen && GOTOOLCHAIN=local go env GOVERSION)
minor() { echo "$1" | cut -d. -f1,2; }

build() { # toolchain output
	(cd gen && GOWORK=off GOTOOLCHAIN="$1" go build -o "$bin/$2" .)
}
run() { # log GODEBUG mode [environment]
	env GOMAXPROCS="${procs:-2}" GODEBUG="$2" ${4:-} "$bin/$go" -mode="$3" 2>"$1.log"
}
# run_torn repeats until a gctrace line really is torn: one that ends before its last token.
run_torn() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		run "$@"
		if grep -E '(^|[^ ])gc [0-9]+ @' "$1.log" | grep -vqE ' P( \(forced\))?$'; then return; fi
	done
	echo "gen.sh: $1: no line was torn in ten runs; run it on a machine with more than one CPU" >&2
	exit 1
}

for toolchain in go1.21.13 go1.22.12 go1.23.12 go1.24.11 go1.25.7 "$local_version"; do
	go=$(minor "$toolchain")
	[ "$toolchain" = "$local_version" ] && toolchain=local
	build "$toolchain" "$go"
	run "$go-alloc" gctrace=1 alloc
	run "$go-forced" gctrace=2,gcpacertrace=1,scavtrace=1 forced
	run_torn "$go-lines" gctrace=1 lines
done
run_torn "$go-pieces" gctrace=1 pieces
run "$go-off" gctrace=1 off
procs=1 run "$go-oneproc" gctrace=1 alloc
(export GOEXPERIMENT=goroutineleakprofile && build local leak)
go=leak run "$go-leak" gctrace=1 leak
