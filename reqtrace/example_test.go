package reqtrace_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime/trace"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// A trace that the program takes of itself.
func Example() {
	ctx := context.Background()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan string)
	go func() {
		defer close(served)
		for _, id := range []string{"a", "b", "c"} {
			request := region.Start(ctx, id)
			served <- id // an answer
			request.End()
		}
	}()
	for range served {
	}
	trace.Stop()

	report, err := reqtrace.Analyze(ctx, &buf, reqtrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Requests, "requests")
	for _, band := range report.Bands {
		if band.Parts.Of(reqtrace.CauseUnknown) > 0 {
			fmt.Println(band.Name, "has time that nobody knows about")
		}
	}
	// Output: 3 requests
}
