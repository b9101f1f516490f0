package main

import (
	"bytes"
	"fmt"
	"testing"

	"evenkeel.dev/gctrace"
)

const logLines = 200_000

// serverLog makes a log of a service in which each everyth line is gctrace's (0: none).
func serverLog(every int) []byte {
	var b bytes.Buffer
	for i := range logLines {
		if every > 0 && i%every == 0 {
			n := i/every + 1
			fmt.Fprintf(&b, "gc %d @%d.%03ds 7%%: 0.071+3.1+0.009 ms clock, 0.14+0/0.56/4.8+0.018 ms cpu, 11->11->8 MB, 20 MB goal, 0 MB stacks, 0 MB globals, 2 P\n", n, n/20, n%20*50)
			continue
		}
		fmt.Fprintf(&b, "time=2026-11-21T09:%02d:%02d.%03dZ level=INFO msg=\"request served\" method=GET path=/items/%d status=200 duration=%d.%dms\n",
			i/60000%60, i/1000%60, i%1000, i*7919%100000, i%17, i%10)
	}
	return b.Bytes()
}

func scan(log []byte) (cycles int) {
	sc := gctrace.NewScanner(bytes.NewReader(log))
	for sc.Scan() {
		cycles++
	}
	return cycles
}

// allocations returns how many allocations a line costs, the scanner's own buffer apart.
func allocations(log []byte) float64 {
	whole := testing.AllocsPerRun(3, func() { scan(log) })
	empty := testing.AllocsPerRun(3, func() { scan(nil) })
	return (whole - empty) / logLines
}
