package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"evenkeel.dev/examples/search/match"
)

// BenchmarkSearch is one request through the handler. What matters is B/op: the collector
// runs each time that the heap has grown by about its live size, so a request that
// allocates a third as much is three times as far from the next collection.
func BenchmarkSearch(b *testing.B) {
	for _, mode := range []string{"extra", "lean"} {
		b.Run(mode, func(b *testing.B) {
			found, err := match.ByName(mode)
			if err != nil {
				b.Fatal(err)
			}
			h := sampleSearcher(b, found).routes()
			w := discard{}
			b.ReportAllocs()
			for b.Loop() {
				w.header = make(http.Header)
				h.ServeHTTP(&w,
					httptest.NewRequest(http.MethodPost, "/search?term=president&cnn=on&bbc=on&nyt=on", nil))
			}
			if w.status != http.StatusOK {
				b.Fatalf("status %d", w.status)
			}
		})
	}
}

// discard is a ResponseWriter that keeps no copy of the page, as a connection would not.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
