package main

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
)

// TestStallQuantile compares the formula with a simulation of the service.
func TestStallQuantile(t *testing.T) {
	const n = 100_000
	var xs []time.Duration
	for i := range n {
		into := time.Duration(i) * stallPeriod / n
		x := stallService
		if into < stallLength {
			x += stallLength - into
		}
		xs = append(xs, x)
	}
	slices.Sort(xs)
	for name, q := range quantiles {
		want, got := xs[int(q*n)-1], stallQuantile(q)
		if math.Abs(float64(got-want)) > float64(time.Millisecond) {
			t.Errorf("%s: %v, simulated %v", name, got, want)
		}
	}
}

// TestInTurn: in every other round the second is the first, and what they measured stays with whom it is of.
func TestInTurn(t *testing.T) {
	order, fails := "", errors.New("it fails")
	of := func(name string, err error) func() (sample, error) {
		return func() (sample, error) { order += name; return sample{Tool: name}, err }
	}
	ones, twos, err := inTurn(3, of("a", nil), of("b", nil))
	if err != nil || order != "abbaab" || len(ones) != 3 || len(twos) != 3 || ones[1].Tool != "a" || twos[1].Tool != "b" {
		t.Errorf("%s: %v, %v, %v", order, ones, twos, err)
	}
	if _, _, err := inTurn(3, of("a", fails), of("b", nil)); !errors.Is(err, fails) || order != "abbaaba" {
		t.Errorf("%s: %v", order, err)
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("load", "../results/load-*.json", judge); err != nil {
		t.Error(err)
	}
}
