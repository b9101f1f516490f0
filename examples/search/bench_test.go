package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/feeds"
	"evenkeel.dev/examples/search/match"
	"evenkeel.dev/internal/leaks"
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

func TestMain(m *testing.M) { leaks.Main(m) }

// sampleSearcher searches the built-in feeds.
func sampleSearcher(t testing.TB, found match.Func) *searcher {
	srv := httptest.NewServer(feeds.Handler())
	t.Cleanup(srv.Close)
	var addrs []address
	for _, k := range known {
		addrs = append(addrs, address{k.name, srv.URL + "/" + k.name + ".xml"})
	}
	return newSearcher(t, found, addrs)
}

func newSearcher(t testing.TB, found match.Func, addrs []address) *searcher {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	// A busy machine may take long to read a feed that is too large.
	sources := newSources(addrs, &http.Client{Transport: transport}, feed.Options{Logger: quiet, Timeout: time.Minute})
	t.Cleanup(func() {
		for _, src := range sources {
			src.cache.Close()
		}
	})
	return &searcher{sources: sources, match: found, log: quiet}
}

var quiet = slog.New(slog.DiscardHandler)
