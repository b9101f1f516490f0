//go:build unix

// Command websockets says what an idle websocket holds of its server: by gorilla/websocket and by
// coder/websocket, over net/http and over package httpd, and parked, which takes neither a
// goroutine nor buffers.
//
//	go run ./websockets                  # from examples/: 10,000 connections in each way, then it ends
//	go run ./websockets -serve parked    # then, elsewhere: websocat ws://127.0.0.1:7003/ws
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
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"evenkeel.dev/examples/internal/httpserver"
	"evenkeel.dev/httpd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// way is one of having a websocket.
type way struct {
	name  string
	own   bool // served by httpd
	serve http.HandlerFunc
	says  string
}

var ways = []way{
	{"gorilla", false, useGorilla, "gorilla/websocket on net/http"},
	{"gorilla-small", false, useGorillaSmall, "gorilla/websocket on net/http, as small as it goes"},
	{"coder", false, useCoder, "coder/websocket on net/http"},
	{"gorilla-httpd", true, useGorilla, "gorilla/websocket on httpd"},
	{"coder-httpd", true, useCoder, "coder/websocket on httpd"},
	{"parked", true, park, "parked: gobwas/ws on httpd"},
}

// find returns the way of that name, or nil.
func find(name string) *way {
	for i := range ways {
		if ways[i].name == name {
			return &ways[i]
		}
	}
	return nil
}

// settings is the command line.
type settings struct {
	addr  string
	serve *way
	n     int
}

const maxConns = 1 << 20

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	var names []string
	for _, w := range ways {
		names = append(names, w.name)
	}
	flags := flag.NewFlagSet("websockets", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.n, "n", 10_000, "open so many `connections` in each way, and say what an idle one holds")
	name := flags.String("serve", "", "serve others, in this `way`, until a signal: "+strings.Join(names, ", "))
	flags.StringVar(&s.addr, "addr", "127.0.0.1:7003",
		"`host:port` that -serve listens on; port 0 lets the kernel choose")
	if err := flags.Parse(args); err != nil {
		return s, err // flags has said why
	}
	var err error
	s.serve = find(*name)
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *name != "" && s.serve == nil:
		err = fmt.Errorf("-serve %s: it must be one of %s", *name, strings.Join(names, ", "))
	case s.n < 1 || s.n > maxConns:
		err = fmt.Errorf("-n %d: it must be 1 to %d", s.n, maxConns)
	}
	if err != nil {
		fmt.Fprintf(stderr, "websockets: %v\n", err)
		flags.Usage()
	}
	return s, err
}

// run measures, or serves until ctx is done, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case s.serve != nil:
		err = serve(ctx, s, slog.New(slog.NewTextHandler(stdout, nil)))
	default:
		err = measure(ctx, s.n, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "websockets:", err)
		return 1
	}
	return 0
}

// serve serves one way until ctx is done.
func serve(ctx context.Context, s settings, log *slog.Logger) error {
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w; choose another address with -addr", err)
	}
	if !s.serve.own {
		return httpserver.Serve(ctx, ln, routes(s.serve), log, "way", s.serve.name)
	}
	log.Info("listening", "url", "http://"+ln.Addr().String(), "way", s.serve.name)
	err = httpd.Serve(ctx, httpserver.New(routes(s.serve), log), ln, httpd.Options{Logger: log})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// routes is what the server has.
func routes(w *way) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/ws", w.serve)
	m.HandleFunc("/memory", memory)
	return m
}
