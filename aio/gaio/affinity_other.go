//go:build !linux

package gaio

import (
	"errors"
	"runtime"
)

func bindThread(int) error { return errors.ErrUnsupported }

func mayRunOn(cpu int) bool { return cpu >= 0 && cpu < runtime.NumCPU() }
