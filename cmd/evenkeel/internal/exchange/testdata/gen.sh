#!/bin/sh
# Makes the files in this folder anew, each by the tool that it is of: vegeta as module bench pins it, HdrHistogram's Go library.
# Then `go test ./cmd/evenkeel/internal/exchange -update` writes the files of read/; read their difference. Needs the network
# once, for what is not in the module cache.
set -eu
cd "$(dirname "$0")"
export GOWORK=off
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go -C ../../../../../bench build -o "$bin/vegeta" github.com/tsenart/vegeta/v12
go run ./gen "$bin" .
