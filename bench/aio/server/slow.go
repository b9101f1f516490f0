package main

import (
	"log"
	"time"
)

// slowCalls has four goroutines be in system calls of that length, one after the other: the runtime lends
// the threads that they run on to the kernel for as long. No signal interrupts the calls. One that can be
// interrupted would not do: the kernel interrupts it for what a ring has left for its thread to do.
func slowCalls(length time.Duration) {
	for range 4 {
		go func() {
			for {
				if err := hang(length); err != nil {
					log.Fatal("server: -slowcalls: ", err)
				}
				time.Sleep(time.Millisecond) // the next thread may be another
			}
		}()
	}
}
