//go:build !cgo

package main

import "evenkeel.dev/examples/fastcserver/matrix"

var multiply = matrix.Product

func way() string { return "none, built without cgo" }
