//go:build !linux

package cpuwatch

import (
	"errors"

	"evenkeel.dev/reqtrace"
)

// Watch watches nothing here.
type Watch struct{}

// Start returns an error: there are no control groups here.
func Start(int, bool) (*Watch, error) { return &Watch{}, errors.New("it is known on Linux alone") }

// Quota returns 0: it is not known.
func (*Watch) Quota() float64 { return 0 }

// Recent returns nil: nothing is known.
func (*Watch) Recent() *reqtrace.CPU { return nil }

// End returns nil: nothing is known.
func (*Watch) End() *reqtrace.CPU { return nil }
