//go:build unix

// Command websockets measures what an idle websocket holds of its server, in four ways.
//
//	go run ./websockets                  # from examples/: 10,000 connections in each way, then it ends
//	go run ./websockets -serve parked    # then, elsewhere: websocat ws://127.0.0.1:7003/ws
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/httpd"
)

func main() {
	var s settings
	command.Command{
		Name: "websockets", Flags: s.register, Check: s.check,
		Run: func(ctx context.Context, stdout io.Writer, log *slog.Logger) error {
			if s.serve == nil {
				return measure(ctx, s.n, stdout)
			}
			return serve(ctx, s, log)
		},
	}.Main()
}

type way struct {
	name  string
	own   bool // served by httpd
	serve http.HandlerFunc
	says  string
}

var ways = []way{
	{"gorilla", false, useGorilla, "gorilla/websocket on net/http"},
	{"gorilla-small", false, useGorillaSmall, "gorilla/websocket on net/http, as small as it goes"},
	{"gorilla-httpd", true, useGorilla, "gorilla/websocket on httpd"},
	{"parked", true, park, "parked: gobwas/ws on httpd"},
}

func find(name string) *way {
	if i := slices.IndexFunc(ways, func(w way) bool { return w.name == name }); i >= 0 {
		return &ways[i]
	}
	return nil
}

type settings struct {
	addr  string
	way   string
	n     int
	serve *way // nil: measure
}

const maxConns = 1 << 20

func (s *settings) register(fs *flag.FlagSet) {
	command.AddrFlag(fs, &s.addr, "127.0.0.1:7003")
	fs.StringVar(&s.way, "serve", "", "serve others, in this `way`, until a signal: "+names())
	fs.IntVar(&s.n, "n", 10_000, "open so many `connections` in each way, and say what an idle one holds")
}

func (s *settings) check() error {
	s.serve = find(s.way)
	switch {
	case s.way != "" && s.serve == nil:
		return fmt.Errorf("-serve %s: it must be one of %s", s.way, names())
	case s.n < 1 || s.n > maxConns:
		return fmt.Errorf("-n %d: it must be 1 to %d", s.n, maxConns)
	}
	return nil
}

func names() string {
	var list []string
	for _, w := range ways {
		list = append(list, w.name)
	}
	return strings.Join(list, ", ")
}

func serve(ctx context.Context, s settings, log *slog.Logger) error {
	ln, err := command.Listen(s.addr)
	if err != nil {
		return err
	}
	var by func(*http.Server, net.Listener) error
	if s.serve.own {
		by = func(srv *http.Server, ln net.Listener) error {
			// The caller shuts srv down.
			return httpd.Serve(context.Background(), srv, ln, httpd.Options{Logger: log})
		}
	}
	return command.Server{By: by}.Serve(ctx, ln, routes(s.serve), log, "way", s.serve.name)
}

func routes(w *way) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/ws", w.serve)
	m.HandleFunc("/memory", memory)
	return m
}
