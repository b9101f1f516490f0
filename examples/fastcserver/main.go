// Command fastcserver is an HTTP service of Gin that does its work in C, by ordinary cgo and by
// fastc:
//
//	go run ./fastcserver          # from examples/; then: curl 127.0.0.1:8080/blockcall/62/2
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
	"net"
	"os"
	"os/signal"
	"syscall"

	"evenkeel.dev/examples/internal/httpserver"
)

// What a process leaves with.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx is done and returns the exit code. It logs to stdout; stderr is for what
// keeps the program from starting, and for the stacks of handlers that panic.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fastcserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "`host:port` to listen on; port 0 lets the kernel choose")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage // flags has said why
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "fastcserver: unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return exitUsage
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))
	handler, source, err := newHandler(stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "fastcserver: %v\n", err)
		return exitError
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintf(stderr, "fastcserver: cannot listen: %v; choose another address with -addr\n", err)
		return exitError
	}
	defer ln.Close()
	if err := httpserver.Serve(ctx, ln, handler, log, "fastc", source); err != nil {
		fmt.Fprintf(stderr, "fastcserver: %v\n", err)
		return exitError
	}
	return exitOK
}
