//go:build !linux

package gaio

import (
	"runtime"

	"evenkeel.dev/aio"
)

func bindThread(int) error { return &aio.UnsupportedError{Feature: "CPU affinity", Need: "Linux"} }

// mayRunOn accepts any CPU that exists.
func mayRunOn(cpu int) bool { return cpu >= 0 && cpu < runtime.NumCPU() }
