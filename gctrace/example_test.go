package gctrace_test

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/gctrace"
)

// The standard error of a service, lines of its own among those of the collector.
const stderr = `2026/11/21 10:00:00 listening on :8080
gc 1 @0.100s 2%: 0.10+3.0+0.020 ms clock, 0.20+0.50/2.0/1.5+0.040 ms cpu, 4->5->3 MB, 4 MB goal, 2 P
gc 2 @0.300s 3%: 2026/11/21 10:00:00 GET /search
0.20+4.0+0.030 ms clock, 0.40+1.0/4.0/0+0.060 ms cpu, 6->7->3 MB, 7 MB goal, 2 P
`

// From the lines of a log to a summary.
func Example() {
	sc := gctrace.NewScanner(strings.NewReader(stderr))
	sum := gctrace.Summarize(sc.All(), gctrace.Window{To: time.Second})
	if err := sc.Err(); err != nil {
		fmt.Println(err)
		return
	}
	percent, _ := sum.CPUPercent.Get()
	pause, _ := sum.Wall.Pause.Get()
	alloc, _ := sum.AllocBytes.Get()
	fmt.Printf("%d collections, %.2f%% CPU, %v stopped, about %d MiB allocated\n",
		sum.Collections, percent, pause, alloc>>20)
	// Output: 2 collections, 0.41% CPU, 350µs stopped, about 9 MiB allocated
}

func ExampleScanner() {
	sc := gctrace.NewScanner(strings.NewReader(stderr))
	for c := range sc.All() {
		fmt.Printf("gc %d at %v: %v\n", c.N, c.At, c.Wall.Total())
	}
	st := sc.Stats()
	fmt.Printf("%d recovered, %d lost\n", st.Recovered, st.Lost)
	// Output:
	// gc 1 at 100ms: 3.12ms
	// gc 2 at 300ms: 4.23ms
	// 1 recovered, 0 lost
}

func ExampleParse() {
	c, err := gctrace.Parse([]byte("gc 6 @0.044s 13%: 0.071+3.1+0.009 ms clock, 0.14+0/0.56/4.8+0.018 ms cpu, " +
		"11->11->8 MB, 20 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.N, c.End(), c.CPU.Background, c.HeapLive>>20, c.Forced)
	// Output: 6 47.18ms 560µs 8 true
}
