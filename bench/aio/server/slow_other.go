//go:build !cgo

package main

import (
	"errors"
	"time"
)

func hang(time.Duration) error {
	return errors.New("needs a build with cgo, for a call that no signal interrupts")
}
