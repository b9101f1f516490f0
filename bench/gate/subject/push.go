package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/loadgen"
)

// pushed is what came of pushing.
type pushed struct {
	Ops  int64         `json:"ops"`
	Mean time.Duration `json:"mean_ns"` // of a push, which is what the original's benchmark says
	P99  time.Duration `json:"p99_ns"`
	Each time.Duration `json:"each_ns"` // of an operation, whatever is in it
	Peak int64         `json:"peak_rss_bytes"`
}

// push pushes messages of so many bytes for a time, as the original's benchmark does (testdata/original): the timer runs while a message is pushed,
// and at no other time. It says what came of it as JSON.
func push(out io.Writer, policy string, size int, length time.Duration) error {
	enter, stop, err := entrance(policy)
	if err != nil {
		return err
	}
	defer stop()
	var all pushed
	var took loadgen.Histogram
	var sum time.Duration
	start := time.Now()
	for ; all.Ops == 0 || time.Since(start) < length; all.Ops++ {
		ticket := enter()
		begun := time.Now()
		pushLocally(size, int(all.Ops))
		d := time.Since(begun)
		ticket.Exit()
		sum += d
		took.Record(d)
	}
	all.Mean, all.P99, all.Each = sum/time.Duration(all.Ops), took.Quantile(.99), time.Since(start)/time.Duration(all.Ops)
	if all.Peak, err = machine.PeakRSS(os.Getpid()); err != nil { // getrusage(2) has that of who started this, too
		return err
	}
	return json.NewEncoder(out).Encode(all)
}

// entrance returns what is called before each operation under a policy, "" for the stock runtime's.
func entrance(policy string) (enter func() gcgate.Ticket, stop func(), err error) {
	if policy == "" {
		return func() gcgate.Ticket { return gcgate.Ticket{} }, func() {}, nil
	}
	o := gcgate.Options{Logger: slog.New(slog.DiscardHandler)}
	if err := o.Policy.UnmarshalText([]byte(policy)); err != nil {
		return nil, nil, fmt.Errorf("-gate: %w", err)
	}
	g, err := gcgate.Start(context.Background(), o)
	if err != nil {
		return nil, nil, err
	}
	return g.Enter, func() { _ = g.Stop(context.Background()) }, nil // at the end of the process
}

// pushLocally pushes a message into a window that ends with it.
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
