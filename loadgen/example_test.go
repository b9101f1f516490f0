package loadgen_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"evenkeel.dev/loadgen"
)

func ExampleRun() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer service.Close()

	// 1,000 requests a second, 50 of them. Latency counts from the time each was due.
	result, err := loadgen.Run(context.Background(), loadgen.Options{
		Targets:  []loadgen.Target{{URL: service.URL}},
		Rate:     1000,
		Requests: 50,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Answered, "answered:", result.Statuses)
	fmt.Println("measured:", result.Latency.Count(), "p99 > 0:", result.Latency.Quantile(.99) > 0)
	// Output:
	// 50 answered: map[200:50]
	// measured: 50 p99 > 0: true
}
