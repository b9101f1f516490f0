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
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

const (
	bufferSize = 16 << 10 // of a connection
	lastWords  = 3 * time.Second
	maxConns   = 1 << 20
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings is the command line.
type settings struct {
	addr    string
	backend aio.Backend
	tls     string // "": plain
	n       int
	load    string
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("echoserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:7000", "`host:port` to listen on; port 0 lets the kernel choose")
	flags.TextVar(&s.backend, "backend", aio.BackendAuto,
		"how to ask the kernel: auto, io_uring or epoll (kqueue on macOS and the BSDs)")
	flags.StringVar(&s.tls, "tls", "",
		"speak TLS; `how` an idle connection waits: parked (without a goroutine), goroutine, or net (over package net)")
	flags.IntVar(&s.n, "n", 0,
		"with -tls: open so many `connections`, say what an idle one holds, and end; 0: serve until a signal")
	flags.StringVar(&s.load, "load", "",
		"be the client that opens -n connections and trusts this `certificate`; echoserver starts it itself")
	if err := flags.Parse(args); err != nil {
		return s, err // flags has said why
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.tls != "" && !slices.Contains(waits, s.tls):
		err = fmt.Errorf("-tls %s: it must be one of %s", s.tls, strings.Join(waits, ", "))
	case s.n < 0 || s.n > maxConns:
		err = fmt.Errorf("-n %d: it must be 0 to %d", s.n, maxConns)
	case s.n > 0 && s.tls == "" && s.load == "":
		err = errors.New("-n measures connections of TLS: add -tls")
	}
	if err != nil {
		fmt.Fprintf(stderr, "echoserver: %v\n", err)
		flags.Usage()
	}
	return s, err
}

// run serves until ctx is done, or its own load is, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	switch {
	case s.load != "":
		err = load(ctx, s, stdout)
	case s.tls != "":
		err = serveTLS(ctx, s, slog.New(slog.NewTextHandler(stdout, nil)))
	default:
		err = serve(ctx, s, slog.New(slog.NewTextHandler(stdout, nil)))
	}
	if err != nil {
		fmt.Fprintln(stderr, "echoserver:", err)
		return 1
	}
	return 0
}

// newWatcher returns the Watcher that -backend asks for.
func newWatcher(s settings, log *slog.Logger) (*aio.Watcher, error) {
	w, err := aio.New(aio.Options{Backend: s.backend, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("%w; choose another with -backend, or leave it out", err)
	}
	return w, nil
}

// serve echoes until ctx is done.
func serve(ctx context.Context, s settings, log *slog.Logger) error {
	w, err := newWatcher(s, log)
	if err != nil {
		return err
	}
	defer w.Close()
	l, err := w.Listen("tcp", s.addr, aio.ListenOptions{})
	if err != nil {
		return cannotListen(err)
	}
	log.Info("listening", "addr", l.Addr(), "backend", w.Stats().Backend)

	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		stopped <- w.Shutdown(end) // the echo in WaitIO finishes its writes until then
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

func cannotListen(err error) error {
	return fmt.Errorf("cannot listen: %w; choose another address with -addr", err)
}

// echo is the whole service, until WaitIO fails, in the end with aio.ErrWatcherClosed. A
// connection's buffer is either being read into or being written. So the service does not read from
// a peer that does not read its echo, and nobody else waits for that peer.
//
// Each operation has one result, also one that is refused. A submission itself fails only when w is
// closed, which WaitIO says too.
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
			case r.Error != nil: // io.EOF most of the time
				r.Conn.Close()
			case r.Op == aio.OpRead:
				_ = r.Conn.Write(nil, r.Buffer[:r.Size], aio.NoDeadline)
			default:
				_ = r.Conn.Read(nil, r.Buffer[:cap(r.Buffer)], aio.NoDeadline)
			}
		}
	}
}
