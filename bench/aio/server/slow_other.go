//go:build linux && !cgo

package main

import (
	"log"
	"time"
)

func slowCalls(time.Duration) {
	log.Fatal("-slowcalls needs a build with cgo, for a call that no signal interrupts")
}
