//go:build !cgo

package main

import "evenkeel.dev/examples/fastcserver/matrix"

// multiply is the filter's step; there is no C to call.
var multiply = matrix.Product

// way says how it is called.
func way() string { return "none, built without cgo" }
