//go:build linux

package main

import (
	"slices"

	"evenkeel.dev/bench/gate"
	"evenkeel.dev/bench/gc"
	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/httpd"
	"evenkeel.dev/bench/load"
)

// cases returns all cases. A group of them has a package.
func cases() []harness.Case {
	return slices.Concat(
		gate.Cases(),
		gc.Cases(),
		httpd.Cases(),
		load.Cases(),
	)
}
