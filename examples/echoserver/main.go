//go:build unix

// Command echoserver sends back what it receives, to any number of connections, with one goroutine,
// or a few, and one buffer per connection. It also does so over TLS:
//
//	go run ./echoserver               # from examples/; then: nc 127.0.0.1 7000
//	go run ./echoserver -loops 4      # on four cores
//	go run ./echoserver -tls          # then: openssl s_client -connect 127.0.0.1:7000
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/examples/internal/command"
)

const (
	bufferSize = 16 << 10
	lastWords  = 3 * time.Second
	maxLoops   = 256
)

func main() {
	var s settings
	command.Command{
		Name: "echoserver", Flags: s.register, Check: s.check,
		Run: func(ctx context.Context, _ io.Writer, log *slog.Logger) error {
			if s.tls {
				return serveTLS(ctx, s, log)
			}
			return serve(ctx, s, log)
		},
	}.Main()
}

type settings struct {
	addr    string
	backend aio.Backend
	loops   int
	tls     bool
}

func (s *settings) register(fs *flag.FlagSet) {
	command.AddrFlag(fs, &s.addr, "127.0.0.1:7000")
	fs.TextVar(&s.backend, "backend", aio.BackendAuto,
		"how to ask the kernel: auto, io_uring or epoll (kqueue on macOS and the BSDs)")
	fs.IntVar(&s.loops, "loops", 1, "how many `goroutines` have the connections, one for each core; without -tls")
	fs.BoolVar(&s.tls, "tls", false, "speak TLS, with a certificate of its own")
}

func (s *settings) check() error {
	if s.loops < 1 || s.loops > maxLoops {
		return fmt.Errorf("-loops %d: it must be 1 to %d", s.loops, maxLoops)
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
	var watchers []*aio.Watcher
	for range s.loops {
		w, err := newWatcher(s, log)
		if err != nil {
			return err
		}
		defer w.Close()
		watchers = append(watchers, w)
	}
	l, err := watchers[0].Listen("tcp", s.addr)
	if err != nil {
		return command.CannotListen(err)
	}
	log.Info("listening", "addr", l.Addr(), "backend", watchers[0].Stats().Backend, "loops", s.loops)
	_ = l.AcceptMultishot(nil)

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, s.loops)
	for _, w := range watchers {
		go func() {
			failed <- echo(w, watchers)
			stop()
		}()
	}
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	var total aio.Stats
	for _, w := range watchers { // echo finishes its writes until then
		if err := w.Shutdown(end); err != nil {
			log.Warn("echoes that peers did not read were cut off", "after", lastWords)
		}
	}
	for _, w := range watchers {
		if err := <-failed; err != aio.ErrWatcherClosed {
			return fmt.Errorf("cannot serve: %w", err)
		}
		stats := w.Stats()
		total.Operations += stats.Operations
		total.BytesRead += stats.BytesRead
		total.BytesWritten += stats.BytesWritten
	}
	log.Info("stopped", "operations", total.Operations, "read", total.BytesRead, "written", total.BytesWritten)
	return nil
}

// echo is the whole service, until WaitIO fails. The first of all loops accepts, and spreads the
// connections. A connection's buffer is either read into or written. So the service does not read
// from a peer that does not read its echo, and no other peer waits for it.
//
// Each operation has one result, also one that is refused.
func echo(w *aio.Watcher, all []*aio.Watcher) error {
	for {
		results, err := w.WaitIO()
		if err != nil {
			return err
		}
		for _, r := range results {
			switch {
			case r.Op == aio.OpAccept && r.More:
				if c, err := r.Conn.Spread(all...); err == nil {
					_ = c.Read(nil, make([]byte, bufferSize), aio.NoDeadline)
				} else {
					r.Conn.Close()
				}
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
