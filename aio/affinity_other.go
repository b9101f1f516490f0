//go:build !linux

package aio

import "runtime"

func setAffinity(int) error { return &UnsupportedError{Feature: "CPU affinity", Need: "Linux"} }

// mayRunOn says yes to any CPU that there is: setAffinity says why not.
func mayRunOn(cpu int) bool { return cpu >= 0 && cpu < runtime.NumCPU() }
