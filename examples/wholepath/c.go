//go:build cgo

package main

import (
	"evenkeel.dev/examples/fastcserver/matrix"
	"evenkeel.dev/fastc"
)

// multiply is the filter's step.
var multiply = matrix.MultiplyYielding

// way says how it is called.
func way() string { return "fastc, " + fastc.Source() }
