package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"evenkeel.dev/loadgen"
)

// sample is one run of one mode.
type sample struct {
	Mode  string  `json:"mode"`
	Load  string  `json:"load"`
	Round int     `json:"round"`
	Try   int     `json:"try"` // from 1; more where steal or stalls made it void
	Rate  float64 `json:"requests_per_second"`

	Requests int64             `json:"requests"`
	Failed   int64             `json:"failed"` // no answer, or another status than 200
	Failures []loadgen.Failure `json:"failures,omitempty"`
	Statuses map[int]int64     `json:"statuses,omitempty"`
	P50      time.Duration     `json:"p50_ns"`
	P99      time.Duration     `json:"p99_ns"`
	P999     time.Duration     `json:"p999_ns"`
	Max      time.Duration     `json:"max_ns"`
	Late     int64             `json:"late,omitempty"` // sent over 1 ms late by the client
	LateMax  time.Duration     `json:"late_max_ns,omitempty"`

	CPU         []float64     `json:"cpu"`         // of each replica's core, 0 to 1
	Collections []int64       `json:"collections"` // of each replica
	Escaped     []int64       `json:"escaped,omitempty"`
	Met         []int64       `json:"met,omitempty"`       // requests that collections of each gate met
	MetOther    []int64       `json:"met_other,omitempty"` // and those of the runtime under it, about
	Counted     []counted     `json:"counted,omitempty"`   // by each subject with a gate
	Asked       int           `json:"asked,omitempty"`     // all replicas for a collection, at once
	Unanswered  int           `json:"unanswered,omitempty"`
	Throttled   []int64       `json:"throttled,omitempty"` // periods in which each waited for its quota, since its group was made
	Broken      int           `json:"broken_streams,omitempty"`
	Raft        *raftCounts   `json:"raft,omitempty"`
	Turns       *turnCounts   `json:"turns,omitempty"`
	PeakRSS     []int64       `json:"peak_rss_bytes"`
	Own         []int64       `json:"own_bytes,omitempty"`        // of each replica, at the end: machine.OwnBytes
	Idle        int           `json:"idle_connections,omitempty"` // of each replica
	Steal       float64       `json:"steal"`
	Stall       time.Duration `json:"longest_stall_ns"` // of a core
	Stalls      int           `json:"stalls"`           // of over 1 ms
	Touched     int64         `json:"touched"`          // requests set aside because of stalls
	Busy        float64       `json:"busy"`             // of the machine, 0 to 1
	Others      float64       `json:"others_cpu"`       // of the machine, by processes that are not part of this

	Latency loadgen.Histogram `json:"latency"`         // without those set aside, or of all where none is left
	Raw     loadgen.Histogram `json:"latency_raw"`     // of all
	Gates   []any             `json:"gates,omitempty"` // gcgate.Stats of each replica
}

// counted is what a subject counts, since it began.
type counted struct {
	Polls  int    `json:"polls,omitempty"`
	Warned *int   `json:"warned,omitempty"` // announced collections before the first warning that requests keep coming
	Away   []away `json:"away,omitempty"`   // by announced collection
}

// away are the requests of one announced collection.
type away struct {
	Announced int           `json:"announced"`   // that came after the announcement
	Drained   int           `json:"drained"`     // and those of them after the peers had confirmed it
	Last      time.Duration `json:"last_ns"`     // from the announcement to the last of them
	Draining  time.Duration `json:"draining_ns"` // from the peers' confirmation until the collection began
}

// take copies what r says of the requests.
func (s *sample) take(r *loadgen.Result) {
	s.Requests, s.Failed, s.Failures, s.Statuses = r.Requests(), r.Failed+notOK(r), r.Failures, r.Statuses
	s.Late, s.LateMax = r.Late, r.LateMax
	if s.Latency.Count() == 0 {
		s.Latency = s.Raw // all were set aside: a quantile of nothing is 0, which would be the best of all
	}
	s.P50, s.P99, s.P999, s.Max = s.Latency.Quantile(.5), s.Latency.Quantile(.99), s.Latency.Quantile(.999), s.Latency.Max()
}

// notOK counts the answers with another status than 200.
func notOK(r *loadgen.Result) (n int64) {
	for status, count := range r.Statuses {
		if status != http.StatusOK {
			n += count
		}
	}
	return n
}

// figure returns a latency in seconds, the share of requests that failed, the mean share of a
// core, or the mean own or peak memory of the replicas in bytes.
func (s *sample) figure(what string) float64 {
	switch what {
	case "p50":
		return s.P50.Seconds()
	case "p99":
		return s.P99.Seconds()
	case "p99.9":
		return s.P999.Seconds()
	case "max":
		return s.Max.Seconds()
	case "failed":
		return float64(s.Failed) / float64(max(s.Requests, 1))
	case "CPU":
		total := 0.0
		for _, x := range s.CPU {
			total += x / float64(len(s.CPU))
		}
		return total
	case "own memory":
		return float64(sum(s.Own)) / float64(max(len(s.Own), 1))
	}
	return float64(sum(s.PeakRSS)) / float64(len(s.PeakRSS))
}

// disturbed reports whether the machine's own host got in the way: it took time, or stood still
// during all requests.
func (s *sample) disturbed() bool { return s.Steal > mostSteal || s.Touched == s.Requests }

func (d *driver) printSample(s sample, void bool) {
	note := ""
	if void {
		note = "  VOID: steal or stalls, repeated"
	} else if s.disturbed() {
		note = "  DISTURBED: steal or stalls"
	}
	if s.Others > mostOthers {
		note += "  DISTURBED: something else runs on this machine"
	}
	if n := sum(s.Escaped); n > 0 {
		note += fmt.Sprintf("  %d collections escaped", n)
	}
	if len(s.Met) > 0 {
		note += fmt.Sprintf("  met collections: %d, others' %d", sum(s.Met), sum(s.MetOther))
	}
	fmt.Fprintf(d.out, "%-12s %-17s round %d  %6.0f/s  p50 %8s  p99 %8s  p99.9 %8s  max %8s  failed %d of %d  cpu %s  collections %s  peak %s MB  steal %.2f%% stalls %d, to %s, set aside %.1f%% (all: p99 %s, p99.9 %s) others %.0f%%%s\n",
		s.Load, s.Mode, s.Round, s.Rate, short(s.P50), short(s.P99), short(s.P999), short(s.Max), s.Failed, s.Requests,
		each(s.CPU, func(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }),
		each(s.Collections, func(n int64) string { return fmt.Sprint(n) }),
		each(s.PeakRSS, func(n int64) string { return fmt.Sprint(n / 1e6) }), 100*s.Steal, s.Stalls, short(s.Stall), 100*float64(s.Touched)/float64(max(s.Requests, 1)), short(s.Raw.Quantile(.99)), short(s.Raw.Quantile(.999)), 100*s.Others, note)
}

// short prints a duration in µs, or in ms from 10 ms.
func short(d time.Duration) string {
	if d >= 10*time.Millisecond {
		return fmt.Sprintf("%.1fms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%dµs", d.Microseconds())
}

func each[T any](xs []T, text func(T) string) string {
	var parts []string
	for _, x := range xs {
		parts = append(parts, text(x))
	}
	return strings.Join(parts, "+")
}

func sum(xs []int64) (n int64) {
	for _, x := range xs {
		n += x
	}
	return n
}
