// Command pushserver pushes a line a second to everybody who is connected:
//
//	go run ./pushserver           # from examples/; then: nc 127.0.0.1 7001
//
// Who does not read fast enough has a bounded backlog, and does not delay the others. README.md
// says more.
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
	lastWords  = 3 * time.Second
	maxBacklog = 1 << 16 // lines
	maxSize    = 1 << 20 // bytes
	maxStamp   = 64      // bytes of a line's number and time
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
	every   time.Duration
	size    int
	backlog int
	slow    string
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("pushserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:7001", "`host:port` to listen on; port 0 lets the kernel choose")
	flags.TextVar(&s.backend, "backend", aio.BackendAuto, "how to ask the kernel: auto, io_uring or epoll (kqueue on macOS and the BSDs)")
	flags.DurationVar(&s.every, "every", time.Second, "push a line so often")
	flags.IntVar(&s.size, "size", 0, "fill lines up to so many `bytes`")
	flags.IntVar(&s.backlog, "backlog", 16, "`lines` that may wait for one connection, beside what the kernel buffers")
	flags.StringVar(&s.slow, "slow", "drop", "`policy` for a connection with a full backlog: drop (it misses lines) or disconnect")
	if err := flags.Parse(args); err != nil {
		return s, err // flags has said why
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.every < time.Millisecond:
		err = fmt.Errorf("-every %v: it must be a millisecond or more", s.every)
	case s.size < 0 || s.size > maxSize:
		err = fmt.Errorf("-size %d: it must be 0 to %d", s.size, maxSize)
	case s.backlog < 1 || s.backlog > maxBacklog:
		err = fmt.Errorf("-backlog %d: it must be 1 to %d", s.backlog, maxBacklog)
	case s.slow != "drop" && s.slow != "disconnect":
		err = fmt.Errorf("-slow %s: it must be drop or disconnect", s.slow)
	}
	if err != nil {
		fmt.Fprintf(stderr, "pushserver: %v\n", err)
		flags.Usage()
	}
	return s, err
}

// options are the watcher's. -backlog alone bounds what waits for one connection, however slow others are.
func (s settings) options(log *slog.Logger) aio.Options {
	return aio.Options{
		Backend:         s.backend,
		MaxQueued:       s.backlog + 1, // the writes, and the read that sees the end
		MaxQueuedBytes:  int64(s.backlog) * int64(max(s.size, maxStamp)),
		MaxWatcherBytes: 1 << 40, // a line that waits for many is counted for each, and is there once
		SwapSize:        4 << 10, // nobody has to say anything
		Logger:          log,
	}
}

// run serves until ctx is done and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))
	w, err := aio.New(s.options(log))
	if err != nil {
		fmt.Fprintf(stderr, "pushserver: %v; choose another with -backend, or leave it out\n", err)
		return 1
	}
	defer w.Close()
	l, err := w.Listen("tcp", s.addr, aio.ListenOptions{})
	if err != nil {
		fmt.Fprintf(stderr, "pushserver: cannot listen: %v; choose another address with -addr\n", err)
		return 1
	}
	log.Info("listening", "addr", l.Addr(), "backend", w.Stats().Backend)

	p := &pusher{settings: s, log: log, clients: map[*client]bool{}}
	stopped := make(chan error, 1)
	go func() {
		p.push(ctx)
		end, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		stopped <- w.Shutdown(end) // p.serve finishes the writes meanwhile
	}()
	if err := p.serve(w, l); err != aio.ErrWatcherClosed {
		fmt.Fprintf(stderr, "pushserver: cannot wait for connections: %v\n", err)
		return 1
	}
	if err := <-stopped; err != nil {
		log.Warn("lines that peers did not read were cut off", "after", lastWords)
	}
	log.Info("stopped", "lines", p.lines, "dropped", p.dropped, "disconnected", p.disconnected)
	return 0
}
