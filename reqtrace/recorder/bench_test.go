package recorder

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkMiddleware is what a request costs that was not slow, while the recorder is off.
func BenchmarkMiddleware(b *testing.B) {
	r := &Recorder{o: Options{Slow: time.Minute}, notes: make(chan note, 1)}
	r.threshold.Store(int64(time.Minute))
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	measuring := &Recorder{times: &times{}, notes: make(chan note, 1)}
	measuring.threshold.Store(int64(time.Minute))
	w, q := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	for _, c := range []struct {
		name string
		h    http.Handler
	}{{"without", next}, {"Slow", r.Middleware(next)}, {"Quantile", measuring.Middleware(next)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.h.ServeHTTP(w, q)
			}
		})
	}
}
