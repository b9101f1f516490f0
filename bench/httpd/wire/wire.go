// Package wire is what the driver of the benchmark of package httpd and its client say to each
// other.
package wire

import "time"

// Result is what one run measured.
type Result struct {
	Requests int           `json:"requests"`
	Failed   int           `json:"failed"` // connections or requests without a whole answer
	Seconds  float64       `json:"seconds"`
	CPU      time.Duration `json:"cpu_ns"` // of the server for one request
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	P999     time.Duration `json:"p999_ns"`
	// processors that the client used: near 1, and the rate is the client's
	Client float64 `json:"client,omitempty"`
	Memory int64   `json:"memory,omitempty"` // bytes of the server's own pages, the most while it was loaded
	Gone   bool    `json:"gone,omitempty"`   // the server ended while it was loaded; CPU is not known then
}
