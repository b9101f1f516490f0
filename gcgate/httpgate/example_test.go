package httpgate_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/httpgate"
)

// A service wraps its handlers once. Behind HAProxy it would set
// Signals: []gcgate.Signal{&haproxy.RuntimeAPI{Addr: "127.0.0.1:9199", Backend: "be", Server: "a"}}
// and Turns: gcgate.FileTurns{Path: "/run/hello/gcgate.lock"}.
func Example() {
	g, err := gcgate.Start(context.Background(), gcgate.Options{Policy: gcgate.PolicyThrough})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Stop(context.Background())

	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello, even keel")
	})
	handler := httpgate.Wrap(g, hello)

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body)
	fmt.Println(g.State(), g.Stats().InFlight)
	// Output:
	// 200 hello, even keel
	// serving 0
}

// One line, as GCI(handler) was. A service leaves Collector and Logger out.
func ExampleGuard() {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello, even keel")
	})
	handler := httpgate.Guard(hello, gcgate.Options{
		Collector: gcgatetest.NewHeap(),
		Logger:    slog.New(slog.DiscardHandler),
	})
	defer handler.Stop(context.Background())

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body, handler.Err())
	// Output: 200 hello, even keel <nil>
}
