package promaio_test

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/aio"
	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/contrib/prometheus/promaio"
)

func Example() {
	w, err := aio.New(aio.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(promaio.New(w))

	w.Post("a tag")
	w.WaitIO()
	promtest.Print(registry, "evenkeel_aio_results_total", "evenkeel_aio_connections")
	// Output:
	// evenkeel_aio_connections 0
	// evenkeel_aio_results_total 1
}
