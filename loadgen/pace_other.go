//go:build !linux

package loadgen

import "time"

// newNap returns a sleep for the calling goroutine.
func newNap() (nap func(ns int64)) {
	return func(ns int64) { time.Sleep(time.Duration(ns)) }
}
