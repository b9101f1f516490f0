//go:build linux

package main

import (
	"slices"

	"evenkeel.dev/bench/explain"
	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/httpd"
	"evenkeel.dev/bench/recorder"
	"evenkeel.dev/bench/tailstat"
)

// cases returns all cases. A group of them has a package.
func cases() []harness.Case {
	return slices.Concat(
		explain.Cases(),
		httpd.Cases(),
		recorder.Cases(),
		tailstat.Cases(),
	)
}
