package gcgate_test

import (
	"context"
	"log/slog"
	"math/bits"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

// The message push of the Garbage Collector Control Interceptor: each operation makes a message
// and keeps it in a window. Here the window lives and the timer never stops, so that a
// collection counts. docs/benchmarks.md compares.
//
//	go test -run=- -bench=_GCI -benchtime=5s ./gcgate
//	go test -run=- -bench=_NoGCI -benchtime=5s ./gcgate

func BenchmarkMessagePush_GCI1KB(b *testing.B)     { messagePush(b, 1<<10, true) }
func BenchmarkMessagePush_GCI10KB(b *testing.B)    { messagePush(b, 10<<10, true) }
func BenchmarkMessagePush_GCI100KB(b *testing.B)   { messagePush(b, 100<<10, true) }
func BenchmarkMessagePush_GCI1MB(b *testing.B)     { messagePush(b, 1<<20, true) }
func BenchmarkMessagePush_NoGCI1KB(b *testing.B)   { messagePush(b, 1<<10, false) }
func BenchmarkMessagePush_NoGCI10KB(b *testing.B)  { messagePush(b, 10<<10, false) }
func BenchmarkMessagePush_NoGCI100KB(b *testing.B) { messagePush(b, 100<<10, false) }
func BenchmarkMessagePush_NoGCI1MB(b *testing.B)   { messagePush(b, 1<<20, false) }

// messagePush pushes messages of size bytes, under a gate or the stock runtime.
func messagePush(b *testing.B, size int, gated bool) {
	window := make([][]byte, min(200_000, 256<<20/size))
	push := func(i int) {
		m := make([]byte, size)
		for k := range m {
			m[k] = byte(i)
		}
		window[i%len(window)] = m
	}
	for i := range window {
		push(i)
	}
	runtime.GC()
	if gated {
		g, err := gcgate.Start(context.Background(),
			gcgate.Options{Policy: gcgate.PolicyThrough, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		defer g.Stop(context.Background())
		ungated := push
		push = func(i int) {
			t := g.Enter()
			ungated(i)
			t.Exit()
		}
	}
	b.SetBytes(int64(size))
	var h histogram
	i := 0
	last := time.Now()
	for b.Loop() {
		push(i)
		i++
		now := time.Now() // once an operation: what is between two of them counts too
		h.add(now.Sub(last))
		last = now
	}
	b.ReportMetric(float64(h.quantile(.999)), "p99.9-ns")
	runtime.KeepAlive(window)
}

// BenchmarkMessagePushLiteral is the same benchmark as the original has it: the window is a local
// array, so that no message outlives its operation, and the timer runs only while a message is
// pushed. The array is too large for a stack, so an operation is 4.8 MB of zeroes first of all, and
// what is measured is how a heap full of them is reused under one or another pace of collecting.
func BenchmarkMessagePushLiteral(b *testing.B) {
	for _, policy := range []string{"NoGCI", "auto", "through", "idle"} {
		for _, size := range []struct {
			name  string
			bytes int
		}{{"1KB", 1 << 10}, {"10KB", 10 << 10}, {"100KB", 100 << 10}, {"1MB", 1 << 20}} {
			b.Run(policy+"/"+size.name, func(b *testing.B) { messagePushLiteral(b, policy, size.bytes) })
		}
	}
}

// messagePushLiteral pushes under a gate with this policy, or under the stock runtime.
func messagePushLiteral(b *testing.B, policy string, size int) {
	var g *gcgate.Gate // nil: none
	for p := gcgate.PolicyAuto; p <= gcgate.PolicyShed; p++ {
		if p.String() != policy {
			continue
		}
		var err error
		if g, err = gcgate.Start(context.Background(),
			gcgate.Options{Policy: p, Logger: slog.New(slog.DiscardHandler)}); err != nil {
			b.Fatal(err)
		}
		defer g.Stop(context.Background())
	}
	b.SetBytes(int64(size))
	b.StopTimer()
	for i := range b.N {
		var t gcgate.Ticket
		if g != nil {
			t = g.Enter()
		}
		b.StartTimer()
		pushLocally(size, i)
		b.StopTimer()
		if g != nil {
			t.Exit()
		}
	}
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

// histogram counts durations within 1/32, and allocates nothing.
type histogram struct {
	n     int64
	count [64 * 32]int64
}

func (h *histogram) add(d time.Duration) {
	x := uint64(max(d, 0))
	shift := max(bits.Len64(x)-6, 0) // keeps six digits, of which the first is 1
	h.count[shift*32+int(x>>shift)]++
	h.n++
}

// quantile returns the upper bound of the bucket that holds it.
func (h *histogram) quantile(q float64) time.Duration {
	rest := int64(q * float64(h.n))
	for i, n := range h.count {
		if rest -= n; rest < 0 {
			shift := max(i/32-1, 0)
			return time.Duration((uint64(i-shift*32) + 1) << shift)
		}
	}
	return 0
}

func TestHistogram(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 31, 32, 63, 64, 65, 1000, 123456, time.Second, time.Hour} {
		var h histogram
		h.add(d)
		if got := h.quantile(.5); got < d || got > d+d/32+1 {
			t.Errorf("%d is in the bucket to %d", d, got)
		}
	}
}

// BenchmarkEnterExit is what a request pays, on all cores at once, beside one shared counter.
func BenchmarkEnterExit(b *testing.B) {
	b.Run("gate", func(b *testing.B) {
		g, err := gcgate.Start(context.Background(), gcgate.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		defer g.Stop(context.Background())
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.Enter().Exit()
			}
		})
	})
	b.Run("counter", func(b *testing.B) {
		var n atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				n.Add(1)
				n.Add(-1)
			}
		})
	})
}
