//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/loadgen"
)

// push pushes messages of size bytes for a time, as gci-go's benchmark does. An empty policy means
// the stock runtime. The timer runs only during a push. At the end it waits for the end of its
// input, so that its memory can be read.
func push(policy string, size int, length time.Duration) error {
	enter := func() gcgate.Ticket { return gcgate.Ticket{} }
	if policy != "" {
		o := gcgate.Options{Logger: slog.New(slog.DiscardHandler)}
		if err := o.Policy.UnmarshalText([]byte(policy)); err != nil {
			return fmt.Errorf("-gate: %w", err)
		}
		g, err := gcgate.Start(context.Background(), o)
		if err != nil {
			return err
		}
		enter = g.Enter
	}
	var n int
	var took loadgen.Histogram
	var sum time.Duration
	start := time.Now()
	for ; n == 0 || time.Since(start) < length; n++ {
		ticket := enter()
		begun := time.Now()
		pushLocally(size, n)
		d := time.Since(begun)
		ticket.Exit()
		sum += d
		took.Record(d)
	}
	err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ops": n, "mean": sum / time.Duration(n), "p99": took.Quantile(.99),
		"each": time.Since(start) / time.Duration(n),
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}

// pushLocally pushes a message into a window that the function drops.
//
//go:noinline
func pushLocally(size, i int) {
	var window [200_000][]byte
	m := make([]byte, size)
	for k := range m {
		m[k] = byte(k)
	}
	window[i%len(window)] = m
}
