// Package wire is what the programs of the aio benchmark tell one another: the client its
// driver, and a server its driver about the goroutine that sleeps in it.
package wire

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what one run of the client measured. The client prints it as one line of JSON.
type Result struct {
	Messages int64   `json:"messages"` // answered in the measured time
	Seconds  float64 `json:"seconds"`  // of it
	Latency  Latency `json:"latency"`  // of a message; in a burst of a client, from connect to answer
	CPU      float64 `json:"cpu_ns"`   // of the server for each message
	Stalls   int     `json:"stalls"`   // clients of a burst without their answer after a second

	// Syscalls of the server for each message, from a window of its own; Untraced says why
	// there are none.
	Syscalls float64 `json:"syscalls,omitempty"`
	Untraced string  `json:"untraced,omitempty"`

	// Values are what some loads find beside, by name; those that end in _ms are milliseconds.
	Values map[string]float64 `json:"values,omitempty"`
}

// What some loads and their servers have to agree on.
const (
	FreedWrites = 10  // to each connection before it is closed
	FreedSize   = 100 // bytes of each
)

// MixedSizes are the sizes of the messages that the load of reads sends in turn, in bytes.
var MixedSizes = []int{100, 1000, 4000, 8000, 16_000, 30_000}

// Latency is a distribution of durations: the percentiles that the tables show, in
// microseconds, and all of it as raw data.
type Latency struct {
	Mean float64 `json:"mean_us"`
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p99.9_us"`
	Max  float64 `json:"max_us"`
	HDR  string  `json:"hdr"` // nanoseconds to two digits, V2 compressed, base64
}

// NewHistogram returns a histogram of nanoseconds, up to a minute, of three digits.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, 60e9, 3)
}

// Summary reads the percentiles off h.
func Summary(h *hdrhistogram.Histogram) (Latency, error) {
	raw := hdrhistogram.New(1, 60e9, 2) // two digits take a third of the space
	raw.Merge(h)
	b, err := raw.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	us := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e3 }
	return Latency{
		Mean: h.Mean() / 1e3, P50: us(50), P99: us(99), P999: us(99.9), Max: float64(h.Max()) / 1e3, HDR: string(b),
	}, err
}

// Decode returns the histogram behind l.
func (l Latency) Decode() (*hdrhistogram.Histogram, error) {
	return hdrhistogram.Decode([]byte(l.HDR))
}

// What a server and a holding client say on their standard output, a line each. A server's
// first line is its address alone.
const (
	Settled = "settled"  // SIGUSR1: what memory can go back to the system is back
	Sleeper = "sleeper " // SIGWINCH: Latency as JSON, of the time since SIGUSR2
	Values  = "values "  // Result.Values as JSON: at the end of what the server does alone, or at SIGWINCH
	Warm    = "warm"     // the client holds its first connections, and waits for a line
	Held    = "held"     // it holds them all, until its input ends
)

// Cut returns the JSON of a line that a server says about something: Sleeper, Values.
func Cut(line, about string) (string, error) {
	text, ok := strings.CutPrefix(line, about)
	if !ok {
		return "", fmt.Errorf("the server said %.80q instead of %q", line, about)
	}
	return text, nil
}
