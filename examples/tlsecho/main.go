//go:build unix

// Command tlsecho sends back what it receives over TLS, by crypto/tls, and says what an idle connection
// holds:
//
//	go run ./tlsecho                   # from examples/: 10,000 connections of its own, then it ends
//	go run ./tlsecho -n 0              # it serves; then: openssl s_client -connect 127.0.0.1:7002
//
// README.md says more.
package main

import (
	"context"
	"crypto/tls"
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

	"evenkeel.dev/aio"
)

// Of -wait.
const (
	waitParked    = "parked"
	waitGoroutine = "goroutine"
	waitNet       = "net"
)

var waits = []string{waitParked, waitGoroutine, waitNet}

const maxConns = 1 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings is the command line.
type settings struct {
	addr    string
	backend aio.Backend
	wait    string
	n       int
	load    string
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("tlsecho", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:7002", "`host:port` to listen on; port 0 lets the kernel choose")
	flags.TextVar(&s.backend, "backend", aio.BackendAuto, "how to ask the kernel: auto, io_uring or epoll (kqueue on macOS and the BSDs)")
	flags.StringVar(&s.wait, "wait", waitParked, "`how` an idle connection waits: parked (without a goroutine), goroutine, or net (a goroutine, over package net)")
	flags.IntVar(&s.n, "n", 10_000, "open so many `connections`, say what an idle one holds, and end; 0: serve others until a signal")
	flags.StringVar(&s.load, "load", "", "be the client that opens -n connections to -addr and trusts this `certificate`, DER in base64: tlsecho starts it itself")
	if err := flags.Parse(args); err != nil {
		return s, err // flags has said why
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case !slices.Contains(waits, s.wait):
		err = fmt.Errorf("-wait %s: it must be one of %s", s.wait, strings.Join(waits, ", "))
	case s.n < 0 || s.n > maxConns:
		err = fmt.Errorf("-n %d: it must be 0 to %d", s.n, maxConns)
	}
	if err != nil {
		fmt.Fprintf(stderr, "tlsecho: %v\n", err)
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
	if s.load != "" {
		if err := load(ctx, s, stdout); err != nil {
			fmt.Fprintln(stderr, "tlsecho:", err)
			return 1
		}
		return 0
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))
	own, err := certificate()
	if err != nil {
		fmt.Fprintln(stderr, "tlsecho: no certificate:", err)
		return 1
	}
	w, err := aio.New(aio.Options{Backend: s.backend, Logger: log})
	if err != nil {
		fmt.Fprintf(stderr, "tlsecho: %v; choose another with -backend, or leave it out\n", err)
		return 1
	}
	defer w.Close()
	ln, err := listen(w, s)
	if err != nil {
		fmt.Fprintf(stderr, "tlsecho: cannot listen: %v; choose another address with -addr\n", err)
		return 1
	}
	v := &service{settings: s, watcher: w, log: log, config: &tls.Config{Certificates: []tls.Certificate{own}}}
	log.Info("listening", "addr", ln.Addr(), "backend", w.Stats().Backend, "wait", s.wait)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := v.start(ln, stop)
	if s.n == 0 {
		<-ctx.Done()
	} else {
		err = v.measure(ctx, ln.Addr().String(), own.Leaf)
	}
	ln.Close()
	w.Close()
	ended()
	if v.failed != nil {
		fmt.Fprintln(stderr, "tlsecho: cannot wait for connections:", v.failed)
		return 1
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "tlsecho:", err)
		return 1
	}
	log.Info("stopped", "handshakes", v.handshakes.Load(), "echoes", v.echoes.Load())
	return 0
}
