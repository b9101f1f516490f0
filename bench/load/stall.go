package main

import (
	"fmt"
	"time"

	"evenkeel.dev/bench/figure"
)

// The service of "/stall": see server.
const (
	stallPeriod  = time.Second
	stallLength  = 200 * time.Millisecond
	stallService = 20 * time.Millisecond
	stallRate    = 500 // requests a second
	stallRounds  = 5   // the fewest that can tell
)

// stallQuantile is the latency that a share q of requests, due evenly over time, does not
// exceed: four in five take the service time, the others up to a stall more, evenly.
func stallQuantile(q float64) time.Duration {
	calm := 1 - float64(stallLength)/float64(stallPeriod)
	if q <= calm {
		return stallService
	}
	return (stallService + time.Duration((q-calm)/(1-calm)*float64(stallLength))).Round(time.Microsecond)
}

// stall shows that the open loop measures a stalling service as its clients would see it, and
// that hey, asked for the same rate, does not.
func (b *bench) stall() error {
	length := 4 * b.length
	ours, heys, err := inTurn(stallRounds, func() (sample, error) {
		return b.evenkeel("/stall", "-rate", fmt.Sprint(stallRate), "-z", length.String(), "-warmup", "1s")
	}, func() (sample, error) {
		return b.heyLatencies("/stall", "-c", "20", "-q", fmt.Sprint(stallRate/20), "-z", length.String())
	})
	if err != nil {
		return err
	}
	b.set.Raw["stall"] = append(append([]sample(nil), ours...), heys...)
	b.stallFigures(ours, heys)
	return nil
}

func (b *bench) stallFigures(ours, heys []sample) {
	b.stalled("stalling service", ours)
	worst, at := 0.0, ""
	for q := range quantiles {
		if m := figure.Median(offStall(heys, q)); m < worst {
			worst, at = m, q
		}
	}
	b.set.AtMost("stalling service: hey's worst miss ("+at+")", offStall(heys, at), -5, " %")
}

// offStall is by how many percent a quantile is off the computed one.
func offStall(ss []sample, q string) []float64 {
	want := stallQuantile(quantiles[q]).Seconds()
	xs := seconds(ss, q)
	for i := range xs {
		xs[i] = (xs[i]/want - 1) * 100
	}
	return xs
}

// stalled shows how far samples of the stalling service are off the computed quantiles.
func (b *bench) stalled(name string, ss []sample) {
	for _, q := range []string{"p50", "p90", "p95", "p99", "p99.9"} {
		b.set.Between(fmt.Sprintf("%s: %s against the computed %v", name, q, stallQuantile(quantiles[q])), offStall(ss, q), -5, 5, " %")
	}
}
