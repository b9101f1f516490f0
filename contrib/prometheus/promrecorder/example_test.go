package promrecorder_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/contrib/prometheus/promrecorder"
	"evenkeel.dev/reqtrace/recorder"
)

func Example() {
	ctx := context.Background()
	rec, err := recorder.Start(ctx, recorder.Options{
		Slow: 50 * time.Millisecond, CPU: 1, InProcess: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	slow := promrecorder.New(rec)
	defer slow.Close()
	registry.MustRegister(slow)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) })
	srv := httptest.NewServer(rec.Middleware(mux))
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL + "/report")
	if err != nil {
		fmt.Println(err)
		return
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	rec.Stop(ctx)
	// Once it is explained, evenkeel_recorder_explained_requests_total has its class, and its
	// cause: sleep, or machine, where that stood still meanwhile.
	promtest.Print(registry, "evenkeel_recorder_slow_requests_total")
	// Output:
	// evenkeel_recorder_slow_requests_total 1
}
