package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/feeds"
)

// shutdownTimeout bounds the wait for requests under way when the program is told to stop.
const shutdownTimeout = 10 * time.Second

// serve answers on ln until ctx is done, then finishes what is under way.
func serve(ctx context.Context, ln net.Listener, cfg config, log *slog.Logger) error {
	addrs := cfg.feeds
	if addrs == nil {
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
		sources: newSources(addrs, &http.Client{Transport: transport}, feed.Options{TTL: cfg.ttl, HoldLock: cfg.locked, Logger: log}),
		match:   cfg.match,
		sample:  cfg.feeds == nil,
		log:     log,
	}
	defer func() {
		for _, src := range s.sources {
			src.cache.Close()
		}
	}()

	srv := newServer(s.routes(), log)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	log.Info("listening", "url", "http://"+ln.Addr().String(), "alloc", cfg.mode)

	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping", "cause", context.Cause(ctx))
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
		return fmt.Errorf("requests were still under way after %v and were cut off", shutdownTimeout)
	}
	return err
}

// newServer bounds what one client can hold up. Profiles extend the write timeout by
// themselves.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn), // not stderr
	}
}

// serveSamples starts the feed server that stands in for the publishers, and returns where
// its feeds are.
func serveSamples(log *slog.Logger) (addrs []address, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the sample feeds: %w; or give real ones with -feeds", err)
	}
	srv := newServer(feeds.Handler(), log)
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
