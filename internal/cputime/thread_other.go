//go:build !linux

package cputime

import "time"

// Thread returns ok false, because this system does not provide the time.
func Thread() (d time.Duration, ok bool) { return 0, false }
