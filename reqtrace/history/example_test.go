package history_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
)

// A service that takes a trace now and then keeps what they say together. This trace is of one whose cache is locked while it is refreshed.
func Example() {
	store, err := history.Open(history.Options{}) // with a Dir, on disk
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
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

	requests := reqtrace.Read(context.Background(), trace, reqtrace.Options{})
	explained, err := history.Explain(requests, history.Trace{Threshold: 10 * time.Millisecond, Snapshot: "go1.26.trace.gz", Usual: store.Usual()})
	if err != nil {
		fmt.Println(err)
		return
	}
	store.AddAll(explained)

	most := store.Snapshot().Summaries(time.Time{})[0]
	fmt.Println(most.Key)
	fmt.Println("such as:", most.Worst.Words)
	// Output:
	// lock that main.(*cache).refresh held, at main.(*cache).get, in main.main.func1
	// such as: waiting for the mutex that main.(*cache).refresh held while it slept (main.go:43, for up to 12.7 ms), at main.(*cache).get (main.go:33)
}
