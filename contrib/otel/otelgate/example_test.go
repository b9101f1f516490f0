package otelgate_test

import (
	"context"
	"fmt"
	"log/slog"

	"evenkeel.dev/contrib/otel/otelgate"
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
	registration, err := otelgate.Register(gate, nil) // with the global MeterProvider
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registration.Unregister())
	// Output: <nil>
}
