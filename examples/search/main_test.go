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
