package gcgate_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"evenkeel.dev/gcgate"
)

// A service wraps its handlers once. Behind HAProxy it would set
// Signals: []gcgate.Signal{&gcgate.HAProxy{Addr: "127.0.0.1:9199", Backend: "be", Server: "a"}}
// and Turns: gcgate.FileTurns{Path: "/run/lock/hello.turn"}.
func Example() {
	g, err := gcgate.Start(gcgate.Options{Policy: gcgate.Through})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Stop(context.Background())

	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello, even keel")
	})
	mux := http.NewServeMux()
	mux.Handle("/", g.Middleware(hello))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body)
	fmt.Println(g.State(), g.Stats().InFlight)
	// Output:
	// 200 hello, even keel
	// serving 0
}
