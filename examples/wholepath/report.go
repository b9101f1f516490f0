package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"evenkeel.dev/examples/fastcserver/matrix"
)

// order is how many rows and columns the filter's matrices have.
const order = 8

// filter is what a request computes with; it owns it until it puts it back.
type filter struct{ gain, reading, out []float64 }

func newFilter() *filter {
	const n = order * order
	f := &filter{make([]float64, n), make([]float64, n), make([]float64, n)}
	matrix.Fill(f.gain, f.reading, order)
	return f
}

var filters = sync.Pool{New: func() any { return newFilter() }}

func (p *program) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", p.report)
	return mux
}

// report answers a device that reports its readings: each of them goes through the filter, a call
// of C that takes less than a microsecond, and the last ones of all devices stay.
func (p *program) report(w http.ResponseWriter, _ *http.Request) {
	f := filters.Get().(*filter)
	defer filters.Put(f)
	for range p.batch {
		multiply(f.gain, f.reading, f.out, order, 1)
	}
	_, _ = io.WriteString(w, answer(p.window.Push(p.batch), f)) // the client went away
}

// answer says how many readings there were so far, and what the filter says of the last one.
func answer(readings uint64, f *filter) string {
	return fmt.Sprintf("%d readings, state %g\n", readings, matrix.Trace(f.out, order))
}
