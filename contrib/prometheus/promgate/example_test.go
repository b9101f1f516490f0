package promgate_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/contrib/prometheus/promgate"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

func Example() {
	ctx := context.Background()
	gate, err := gcgate.Start(ctx, gcgate.Options{
		Policy:    gcgate.PolicyThrough,
		Collector: gcgatetest.NewHeap(), // for this example: leaves the process's collector alone
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Stop(ctx)
	registry := prometheus.NewRegistry()
	registry.MustRegister(promgate.New(gate))

	gate.Enter().Exit()
	if err := gate.Collect(ctx); err != nil {
		fmt.Println(err)
	}
	promtest.Print(registry, "evenkeel_gate_policy_info", "evenkeel_gate_requests_total",
		`evenkeel_gate_collections_total{reason="requested"}`)
	// Output:
	// evenkeel_gate_collections_total{reason="requested"} 1
	// evenkeel_gate_policy_info{policy="through"} 1
	// evenkeel_gate_requests_total 1
}
