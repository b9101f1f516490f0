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
	// 99% of the extra time is waiting for a mutex. main.(*cache).refresh (main.go:43) holds it while sleeping, up to 21.5 ms at a time. Requests wait in main.(*cache).get (main.go:33), called from main.main.func1 (main.go:81).
}
