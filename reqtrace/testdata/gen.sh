#!/bin/sh
# Makes the traces beside this file, and those in streams/, anew: the program in gen/, built by each Go release that
# writes such traces, with a generation every 100 ms, so that they have several. Then
# `go test ./reqtrace ./internal/verdict -update` writes what is said of them; read the difference.
# Needs the network once, for toolchains that are not in the module cache.
set -eu
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for toolchain in go1.22.12 go1.23.12 go1.24.9 go1.25.4 go1.26.8 go1.27.4; do
	go=$(echo "$toolchain" | cut -d. -f1,2)
	(cd gen && GOWORK=off GOTOOLCHAIN="$toolchain" go build -trimpath -o "$tmp/gen" .)
	for kind in http1 http2 grpc workers; do
		to=streams/$go-$kind.trace.gz
		[ $kind != http1 ] || to=$go.trace.gz
		GOMAXPROCS=2 GODEBUG=traceadvanceperiod=100000000 "$tmp/gen" $kind >"$tmp/trace"
		gzip -9n <"$tmp/trace" >"$to"
	done
done
