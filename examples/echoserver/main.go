//go:build unix

// Command echoserver sends back what it receives, to any number of connections, with one goroutine
// and one buffer per connection. It also does so over TLS, and says what an idle connection holds:
//
//	go run ./echoserver                          # from examples/; then: nc 127.0.0.1 7000
//	go run ./echoserver -tls parked              # then: openssl s_client -connect 127.0.0.1:7000
//	go run ./echoserver -tls parked -n 10000     # 10,000 connections of its own, then it ends
//
// README.md says more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/examples/internal/command"
)

const (
	bufferSize = 16 << 10
	lastWords  = 3 * time.Second
	maxConns   = 1 << 20
)

func main() {
	var s settings
	command.Command{
		Name: "echoserver", Flags: s.register, Check: s.check,
		Run: func(ctx context.Context, stdout io.Writer, log *slog.Logger) error {
			switch {
			case s.load:
				return load(ctx, s, stdout)
			case s.tls != "":
				return serveTLS(ctx, s, log)
			}
			return serve(ctx, s, log)
		},
	}.Main()
}

type settings struct {
	addr    string
	backend aio.Backend
	tls     string // "": plain
	n       int
	load    bool
}

func (s *settings) register(fs *flag.FlagSet) {
	command.AddrFlag(fs, &s.addr, "127.0.0.1:7000")
	fs.TextVar(&s.backend, "backend", aio.BackendAuto,
		"how to ask the kernel: auto, io_uring or epoll (kqueue on macOS and the BSDs)")
	fs.StringVar(&s.tls, "tls", "",
		"speak TLS; `how` an idle connection waits: parked (without a goroutine), goroutine, or net (over package net)")
	fs.IntVar(&s.n, "n", 0,
		"with -tls: open so many `connections`, say what an idle one holds, and end; 0: serve until a signal")
	fs.BoolVar(&s.load, "load", false,
		"be the client that opens -n connections, and trusts any server; echoserver starts it itself")
}

func (s *settings) check() error {
	switch {
	case s.tls != "" && !slices.Contains(waits, s.tls):
		return fmt.Errorf("-tls %s: it must be one of %s", s.tls, strings.Join(waits, ", "))
	case s.n < 0 || s.n > maxConns:
		return fmt.Errorf("-n %d: it must be 0 to %d", s.n, maxConns)
	case s.n > 0 && s.tls == "" && !s.load:
		return errors.New("-n measures connections of TLS: add -tls")
	}
	return nil
}

func newWatcher(s settings, log *slog.Logger) (*aio.Watcher, error) {
	w, err := aio.New(aio.Options{Backend: s.backend, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("%w; choose another with -backend, or leave it out", err)
	}
	return w, nil
}

func serve(ctx context.Context, s settings, log *slog.Logger) error {
	w, err := newWatcher(s, log)
	if err != nil {
		return err
	}
	defer w.Close()
	l, err := w.Listen("tcp", s.addr, aio.ListenOptions{})
	if err != nil {
		return command.CannotListen(err)
	}
	log.Info("listening", "addr", l.Addr(), "backend", w.Stats().Backend)

	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		stopped <- w.Shutdown(end) // echo finishes its writes until then
	}()
	if err := echo(w, l); err != aio.ErrWatcherClosed {
		return fmt.Errorf("cannot serve: %w", err)
	}
	if err := <-stopped; err != nil {
		log.Warn("echoes that peers did not read were cut off", "after", lastWords)
	}
	stats := w.Stats()
	log.Info("stopped", "operations", stats.Operations, "read", stats.BytesRead, "written", stats.BytesWritten)
	return nil
}

// echo is the whole service, until WaitIO fails. A connection's buffer is either read into or
// written. So the service does not read from a peer that does not read its echo, and no other peer
// waits for it.
//
// Each operation has one result, also one that is refused.
func echo(w *aio.Watcher, l *aio.Listener) error {
	_ = l.AcceptMultishot(nil)
	for {
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			switch {
			case r.Op == aio.OpAccept && r.More:
				_ = r.Conn.Read(nil, make([]byte, bufferSize), aio.NoDeadline)
			case r.Op == aio.OpAccept: // the last one
				if r.Error != aio.ErrWatcherClosed {
					return fmt.Errorf("no more connections are accepted: %w", r.Error)
				}
			case r.Error != nil:
				r.Conn.Close()
			case r.Op == aio.OpRead:
				_ = r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
			default:
				_ = r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
			}
		}
	}
}
