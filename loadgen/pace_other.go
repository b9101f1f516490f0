//go:build !linux

package loadgen

import "time"

func lockPacer() {}

func nap(ns int64) { time.Sleep(time.Duration(ns)) }
