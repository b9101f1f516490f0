// Command hello is the smallest service with a gate: one handler, wrapped once.
//
//	go run ./hello -gate          # from examples/; then open http://127.0.0.1:5050
//
// Without a peer to tell, -gate chooses by itself what to do around a collection. The flags
// that name peers are in README.md.
package main

import (
	"io"
	"net/http"

	"evenkeel.dev/examples/internal/service"
)

func main() {
	service.Main(program)
}

var program = service.Service{
	Name:    "hello",
	Addr:    "127.0.0.1:5050",
	Handler: func() http.Handler { return http.HandlerFunc(hello) }, // served as http.Handle("/", g.Middleware(hello))
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello, world\n") }
