package main

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"
)

// BenchmarkHash reports quantiles of its operations.
func BenchmarkHash(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(map[int]string{1 << 10: "1k", 64 << 10: "64k"}[size], func(b *testing.B) {
			b.ReportAllocs()
			text := make([]byte, size)
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				sha256.Sum256(text)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			for name, q := range map[string]float64{"p50-ns/op": .5, "p90-ns/op": .9, "p99-ns/op": .99, "max-ns/op": 1} {
				b.ReportMetric(float64(took[int(q*float64(len(took)-1))]), name)
			}
		})
	}
}

// BenchmarkMean reports none.
func BenchmarkMean(b *testing.B) {
	for b.Loop() {
		sha256.Sum256(nil)
	}
}
