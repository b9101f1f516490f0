//go:build !linux

package gaio

import (
	"runtime"

	"evenkeel.dev/aio"
)

func bindThread(int) error { return &aio.UnsupportedError{Feature: "CPU affinity", Need: "Linux"} }

// mayRunOn says yes to any CPU that there is: bindThread says why not.
func mayRunOn(cpu int) bool { return cpu >= 0 && cpu < runtime.NumCPU() }
