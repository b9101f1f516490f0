package reqtrace

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// Band is the requests between two percentiles. Their times leave out what the machine stood still.
type Band struct {
	Name     string        `json:"name"` // such as p90-99
	Requests int           `json:"requests"`
	Min      time.Duration `json:"min_ns"`
	Max      time.Duration `json:"max_ns"`
	Mean     time.Duration `json:"mean_ns"`
	Parts    Parts         `json:"parts_ns"`  // of a request, on average
	Excess   Parts         `json:"excess_ns"` // Parts less those of the median
	Sites    []Blame       `json:"sites"`     // of a request, on average; largest first, at most 24
	// functions in which its requests ran, by a CPU profile; most first, at most 16
	Samples []Sample `json:"samples,omitempty"`
}

var bandNames = []struct {
	name string
	from float64
}{{"p0-50", 0}, {"p50-90", .5}, {"p90-99", .9}, {"p99-99.9", .99}, {"p99.9+", .999}}

const medianFrom, medianTo = .45, .55

// Share returns which part of the band's excess over the median these causes are, from 0 to 1.
// Causes that take less time than in the median count as none.
func (b *Band) Share(c ...Cause) float64 {
	var sum, all time.Duration
	for i, d := range b.Excess.ns {
		if d > 0 {
			all += d
			if slices.Contains(c, Cause(i)) {
				sum += d
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(sum) / float64(all)
}

// MarshalJSON adds the share of each cause.
func (b Band) MarshalJSON() ([]byte, error) {
	type fields Band
	b.Sites = notNil(b.Sites)
	shares := map[Cause]float64{}
	for c := range b.Excess.All() {
		if s := b.Share(c); s > 0 {
			shares[c], _ = strconv.ParseFloat(strconv.FormatFloat(s, 'g', 4, 64), 64)
		}
	}
	return json.Marshal(struct {
		fields
		Shares map[Cause]float64 `json:"shares"`
	}{fields(b), shares})
}

// edges returns the indexes of the first request of a band and of the first behind it. The last
// band and the median have a request, however few there are.
func (a *analysis) edges(from, to float64) (i, j int) {
	n := float64(len(a.requests))
	i, j = int(math.Floor(from*n)), int(math.Floor(to*n))
	if j <= i && (to == 1 || from == medianFrom) {
		i = min(i, len(a.requests)-1)
		j = i + 1
	}
	return i, j
}

func (a *analysis) band(m *model, name string, from, to float64) Band {
	i, j := a.edges(from, to)
	if j <= i {
		return Band{Name: name}
	}
	requests := a.requests[i:j]
	var sum int64
	var parts [numCauses]int64
	waits, samples := make([]int64, len(m.sites.waits)), map[siteID]int{}
	for k := range requests {
		sum += requests[k].time
		d := a.detailsOf(&requests[k])
		for c, ns := range d.parts {
			parts[c] += ns
		}
		for _, w := range d.waits {
			waits[w.wait] += w.ns
		}
		for _, s := range d.samples {
			samples[s.site] += s.n
		}
	}
	n, slowest := int64(len(requests)), requests[len(requests)-1].time
	b := Band{
		Name: name, Requests: len(requests) * max(a.kept.oneIn, 1), Min: dur(requests[0].time), Max: dur(slowest),
		Mean: dur(sum / n),
	}
	for c, ns := range parts {
		b.Parts.ns[c] = dur(ns / n)
		b.Excess.ns[c] = b.Parts.ns[c] - a.report.Median.Parts.ns[c]
	}
	b.Sites = m.sites.blames(waits, n, slowest)
	b.Samples = m.sites.samples(samples)
	return b
}
