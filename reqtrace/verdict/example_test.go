package verdict_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// A test of a service's own may fail where a lock is what makes its slowest requests slow. This trace
// is of a service whose cache is locked while it is refreshed.
func Example() {
	file, err := os.Open("../testdata/go1.26.trace.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	trace, err := gzip.NewReader(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := reqtrace.Analyze(context.Background(), trace, reqtrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	v := verdict.Of(report)
	for _, c := range v.Causes {
		if v.Named && c.Cause == reqtrace.CauseLock && c.Share > .3 {
			fmt.Println("too much of the tail is a lock:")
		}
	}
	fmt.Println(v.Sentence)
	// Output:
	// too much of the tail is a lock:
	// the slowest 1% (p99+) take 24.9 ms more than the median request (17.5 µs), on average: 99% waiting for the mutex that main.(*cache).refresh held while it slept (main.go:43, for up to 21.5 ms), at main.(*cache).get (main.go:33), called from main.main.func1 (main.go:81)
}
