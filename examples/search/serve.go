package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"evenkeel.dev/examples/internal/httpserver"
	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/feeds"
)

// serve answers on ln until ctx is done, then finishes what is under way.
func serve(ctx context.Context, ln net.Listener, cfg *config, log *slog.Logger) error {
	addrs, options := cfg.feeds, feed.Options{TTL: cfg.ttl, HoldLock: cfg.locked, Logger: log}
	if addrs == nil {
		options.Timeout = time.Minute // nobody's network: only a busy machine is slow
		var stop func()
		var err error
		if addrs, stop, err = serveSamples(log); err != nil {
			return err
		}
		defer stop()
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	s := &searcher{
		sources: newSources(addrs, &http.Client{Transport: transport}, options),
		match:   cfg.match,
		sample:  cfg.feeds == nil,
		log:     log,
	}
	defer func() {
		for _, src := range s.sources {
			src.cache.Close()
		}
	}()

	if err := cfg.recorder.Start(log); err != nil {
		return err
	}
	defer cfg.recorder.Close()
	return httpserver.Serve(ctx, ln, cfg.recorder.Around(s.routes()), log, "alloc", cfg.mode)
}

// serveSamples starts the feed server that stands in for the publishers, and returns where
// its feeds are.
func serveSamples(log *slog.Logger) (addrs []address, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the sample feeds: %w; or give real ones with -feeds", err)
	}
	srv := httpserver.New(feeds.Handler(), log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(ln) // ends with ErrServerClosed
	}()
	for _, k := range known {
		addrs = append(addrs, address{name: k.name, url: "http://" + ln.Addr().String() + "/" + k.name + ".xml"})
	}
	return addrs, func() { srv.Close(); <-done }, nil
}
