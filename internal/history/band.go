package history

import (
	"time"

	"evenkeel.dev/reqtrace"
)

const maxBins = 96

// binWidths are the lengths of these pieces, in seconds. More time has multiples of the last.
var binWidths = []int64{60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600}

// band is how many requests each cause made slow, over time. Its times are seconds since 1970,
// because a wrong clock may put requests further apart than a Duration is long.
type band struct {
	from, width int64
	bins        [][]uint64 // by time, then by cause
}

func (h *History) band(since, to time.Time) band {
	end := to.Unix()
	from := end
	h.requests(since, func(at int64, _ reqtrace.Cause, _ uint64) { from = min(from, at) })
	b := band{}
	for _, b.width = range binWidths {
		if b.from = floor(from, b.width); end-b.from <= maxBins*b.width {
			break
		}
	}
	for end-b.from > maxBins*b.width {
		b.width *= 2
		b.from = floor(from, b.width)
	}
	for at := b.from; at < end || len(b.bins) == 0; at += b.width {
		b.bins = append(b.bins, make([]uint64, len(reqtrace.Causes())))
	}
	h.requests(since, func(at int64, c reqtrace.Cause, n uint64) {
		i := min((at-b.from)/b.width, int64(len(b.bins)-1)) // a clock that went back puts some after the end
		b.bins[i][c] += n
	})
	return b
}

func floor(t, step int64) int64 {
	rest := t % step
	if rest < 0 {
		rest += step
	}
	return t - rest
}

// requests calls f for each minute of each cause that ends after since.
func (h *History) requests(since time.Time, f func(at int64, c reqtrace.Cause, n uint64)) {
	for at, x := range h.hours {
		for k, c := range x.cells {
			for _, m := range c.minutes {
				if within(at, m.minute, since) {
					f(at*3600+60*int64(m.minute%wholeHour), k.Cause, m.of.requests)
				}
			}
		}
	}
}
