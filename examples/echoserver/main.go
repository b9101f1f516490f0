// Command echoserver sends back what it receives, to any number of connections, with one
// goroutine and one buffer a connection:
//
//	go run ./echoserver           # from examples/; then: nc 127.0.0.1 7000
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
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

const (
	bufferSize = 16 << 10 // of a connection
	lastWords  = 3 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx is done and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("echoserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:7000", "`host:port` to listen on; port 0 lets the kernel choose")
	var backend aio.Backend
	flags.TextVar(&backend, "backend", aio.BackendAuto, "how to ask the kernel: auto, io_uring or epoll (kqueue on macOS and the BSDs)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2 // flags has said why
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "echoserver: unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return 2
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))
	w, err := aio.New(aio.Options{Backend: backend, Logger: log})
	if err != nil {
		fmt.Fprintf(stderr, "echoserver: %v; choose another with -backend, or leave it out\n", err)
		return 1
	}
	defer w.Close()
	l, err := w.Listen("tcp", *addr, aio.ListenOptions{})
	if err != nil {
		fmt.Fprintf(stderr, "echoserver: cannot listen: %v; choose another address with -addr\n", err)
		return 1
	}
	log.Info("listening", "addr", l.Addr(), "backend", w.Stats().Backend)

	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		stopped <- w.Shutdown(end) // the echo in WaitIO finishes its writes meanwhile
	}()
	if err := echo(w, l); err != aio.ErrWatcherClosed {
		fmt.Fprintf(stderr, "echoserver: cannot serve: %v\n", err)
		return 1
	}
	if err := <-stopped; err != nil {
		log.Warn("echoes that peers did not read were cut off", "after", lastWords)
	}
	s := w.Stats()
	log.Info("stopped", "operations", s.Operations, "read", s.BytesRead, "written", s.BytesWritten)
	return 0
}

// echo is the whole service, until WaitIO fails: with aio.ErrWatcherClosed, mostly. A connection's
// buffer is either read into or written, so a peer that does not read its echo is not read from: it
// blocks, and nobody else does.
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
