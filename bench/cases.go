//go:build linux

package main

import (
	"slices"

	"evenkeel.dev/bench/aio"
	"evenkeel.dev/bench/explain"
	"evenkeel.dev/bench/fastc"
	"evenkeel.dev/bench/gate"
	"evenkeel.dev/bench/gc"
	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/httpd"
	"evenkeel.dev/bench/load"
	"evenkeel.dev/bench/recorder"
)

func cases() []harness.Case {
	return slices.Concat(
		aio.Cases(),
		explain.Cases(),
		fastc.Cases(),
		gate.Cases(),
		gc.Cases(),
		httpd.Cases(),
		load.Cases(),
		recorder.Cases(),
	)
}
