//go:build !linux

package cpuwatch

import "errors"

type Watch struct{}

// Start returns an error, because this system has no control groups.
func Start(int, bool) (*Watch, error) { return &Watch{}, errors.New("it is known only on Linux") }

// Quota returns 0.
func (*Watch) Quota() float64 { return 0 }

// Recent returns nil.
func (*Watch) Recent() *CPU { return nil }

// End returns nil.
func (*Watch) End() *CPU { return nil }
