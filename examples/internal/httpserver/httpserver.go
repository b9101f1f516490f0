// Package httpserver is the HTTP server of all examples: bounded against its clients, and
// gentle at its end.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// shutdownTimeout bounds the wait for requests under way when the program is told to stop.
const shutdownTimeout = 10 * time.Second

// New bounds what one client can hold up. Profiles extend the write timeout by themselves.
func New(h http.Handler, log *slog.Logger) *http.Server {
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

// Serve answers on ln until ctx is done, then finishes what is under way. It logs where it
// listens, with attrs beside.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger, attrs ...any) error {
	return ServeBy(ctx, (*http.Server).Serve, ln, h, log, attrs...)
}

// ServeBy is [Serve] where not net/http itself serves, but what has the same results.
func ServeBy(ctx context.Context, serve func(*http.Server, net.Listener) error, ln net.Listener, h http.Handler,
	log *slog.Logger, attrs ...any,
) error {
	srv := New(h, log)
	served := make(chan error, 1)
	go func() { served <- serve(srv, ln) }()
	log.Info("listening", append([]any{"url", "http://" + ln.Addr().String()}, attrs...)...)
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping", "cause", context.Cause(ctx))
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(end)
	if err == nil {
		select {
		case <-served: // who queues answers has sent them
		case <-end.Done():
			err = end.Err()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
		return fmt.Errorf("requests were still under way after %v and were cut off", shutdownTimeout)
	}
	return err
}
