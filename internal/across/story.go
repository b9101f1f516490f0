package across

import (
	"time"

	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// Story says which service makes the slowest 1% of the first service's requests slower than its median
// request. Each wait for another service is replaced by what that service did for the
// request, in the slow and in the median requests.
type Story struct {
	Sentence string   `json:"sentence"`
	Detail   string   `json:"detail,omitempty"` // what the named service does
	Fix      string   `json:"fix,omitempty"`
	Named    bool     `json:"named"`
	Parts    []Part   `json:"parts"` // the largest excess first
	Joined   float64  `json:"joined"`
	Calls    int      `json:"calls"` // of the median and the slowest requests, and of those that they led to
	Found    int      `json:"found"`
	Ordered  int      `json:"ordered"` // of Found, without an id: by their order within connections
	Unsure   int      `json:"unsure"`  // of Found: the evidence is thin
	Clocks   []Offset `json:"clocks"`
	Caveats  []string `json:"caveats"`
	Slow     int      `json:"slow"`      // requests in the slowest 1%
	Least    float64  `json:"share_low"` // the first part's share less two standard errors
	Slowest  [][]Span `json:"slowest"`   // the paths of some of the slowest 1%

	Median time.Duration `json:"median_ns"`
	Tail   time.Duration `json:"p99+_ns"`

	most int // of Slow: the first part is more than half of the excess
}

// Part is what a service, or the way to it, takes of a request on average.
type Part struct {
	Service string        `json:"service"`
	Between bool          `json:"between,omitempty"` // on the way there, not yet read, or on the way back
	Via     []Step        `json:"via,omitempty"`     // from the first service
	Median  time.Duration `json:"median_ns"`
	Tail    time.Duration `json:"p99+_ns"`
	Excess  time.Duration `json:"excess_ns"`
	// part of Excess on the way, because the service has no CPU to read the request
	Unread  time.Duration    `json:"unread_ns,omitzero"`
	Share   float64          `json:"share"` // of the excess
	Verdict *verdict.Verdict `json:"verdict,omitempty"`

	starved string // why the service may have had no CPU to read the requests, or ""
}

// Step is a place that waits for the next service.
type Step struct {
	Service string `json:"service"`
	Site    string `json:"site,omitempty"`
}

// Span is a request on the path of a request of the first service. Times count from the start of that
// one, by the clock of the first service.
type Span struct {
	Service string          `json:"service"`
	Depth   int             `json:"depth"` // 0: the first service
	Start   time.Duration   `json:"start_ns"`
	End     time.Duration   `json:"end_ns"`
	Tiles   []reqtrace.Tile `json:"tiles"`
}

// Offset is how far the clock of a callee is behind its caller's.
type Offset struct {
	Caller string        `json:"caller"`
	Callee string        `json:"callee"`
	Offset time.Duration `json:"offset_ns"`
	Within time.Duration `json:"within_ns"`
}
