//go:build !linux

package cputime

import "time"

// Thread is not known here.
func Thread() (d time.Duration, ok bool) { return 0, false }
