package aiotest_test

import (
	"fmt"
	"io"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
)

// A ReadFull gets its bytes although every transfer is short, on every run with this seed alike.
func Example() {
	backend := aiotest.NewBackend(aiotest.Options{Seed: 7, Faults: aiotest.Faults{ShortRead: 1, Cancelled: .5}})
	w, err := aio.NewOver(aio.Options{}, backend)
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, peer := aiotest.Pair(4096)
	_, _ = io.WriteString(peer, "in many small parts")

	_ = w.ReadFull("tag", conn, make([]byte, 19), time.Time{})
	results, err := w.WaitIO()
	for _, r := range results {
		fmt.Printf("%v: %q %v\n", r.Context, r.Buffer[:r.Size], r.Error)
	}
	_ = w.Close()
	fmt.Println(err, backend.Violations())
	// Output:
	// tag: "in many small parts" <nil>
	// <nil> []
}
