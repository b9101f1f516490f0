package aiotest_test

import (
	"fmt"
	"io"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
)

// A ReadFull gets its bytes although transfers are short or cancelled, on every run with this seed.
func Example() {
	w, err := aiotest.NewWatcher(aio.Options{}, aiotest.Options{Seed: 7, Faults: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	end, peer := aiotest.Pair(4096)
	_, _ = io.WriteString(peer, "in many small parts")

	conn, err := w.Attach(end)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = conn.ReadFull("tag", make([]byte, 19), aio.NoDeadline)
	results, err := w.WaitIO()
	for _, r := range results {
		fmt.Printf("%v: %q %v\n", r.Tag, r.Buffer[:r.Size], r.Error)
	}
	fmt.Println(err, w.Close())
	// Output:
	// tag: "in many small parts" <nil>
	// <nil> <nil>
}
