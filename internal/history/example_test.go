package history_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// A service that takes a trace now and then keeps what they say together. This trace is of one
// whose cache is locked while it is refreshed.
func Example() {
	store := history.Open(history.Options{}) // with a Dir, on disk
	defer store.Close()
	file, err := os.Open("../../reqtrace/testdata/go1.26.trace.gz")
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

	head := &history.Head{Trace: history.Trace{
		Threshold: 10 * time.Millisecond,
		Snapshot:  "go1.26.trace.gz", Usual: store.Usual(),
	}}
	explained, err := head.Explain(context.Background(), trace, reqtrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	store.AddSnapshot(head, explained)

	most := store.Snapshot().Summaries(time.Time{})[0]
	fmt.Println(&most)
	fmt.Println("such as:", most.Worst.Words)
	// Output:
	// waiting for a lock that main.(*cache).refresh holds, in main.(*cache).get, in main.main.func1
	// such as: waiting for a mutex that main.(*cache).refresh (main.go:43) holds while sleeping, up to 12.7 ms at a time, in main.(*cache).get (main.go:33)
}
