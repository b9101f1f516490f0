//go:build cgo

package main

import (
	"evenkeel.dev/examples/fastcserver/matrix"
	"evenkeel.dev/fastc"
)

var multiply = matrix.MultiplyYielding

func way() string { return "fastc, " + fastc.Source() }
