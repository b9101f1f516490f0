#!/bin/sh
# Makes the files beside this one anew, each by the tool that it is of: vegeta as module bench pins it, k6, HdrHistogram's
# Go library. Then `go test ./cmd/evenkeel/internal/exchange -update` writes the files of read/; read their difference.
# Needs the network once, for what is not in the module cache, and some minutes to build k6.
#
# wrk2.txt is what wrk2 4.0.0 (44a94c1) printed on loopback (-t1 -c4 -d2s -R200 -L), and wrk2-uncorrected.txt the same with -U
# (-d1s -R100): it is a program in C that no package has, so it is not run here. hdr-java.hgrm is what HistogramLogProcessor of
# HdrHistogram 2.1.11 for Java makes of hdr-go.hlog (-outputValueUnitRatio 1000000); it is not run here for the sake of Java.
set -eu
cd "$(dirname "$0")"
export GOWORK=off
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN="$bin" go install go.k6.io/k6@v1.8.1
go -C ../../../../../bench build -o "$bin/vegeta" github.com/tsenart/vegeta/v12
go run ./gen "$bin" .
