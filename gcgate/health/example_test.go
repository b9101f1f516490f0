package health_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/health"
)

// The check stands outside of what the gate counts. A service leaves Collector out, and gives Turns
// in the place of DisableTurns.
func Example() {
	check := &health.Handler{Fall: 1, Rise: 1} // as in the balancer's configuration
	g, err := gcgate.Start(context.Background(), gcgate.Options{
		Signals: []gcgate.Signal{check}, DisableTurns: true,
		Collector: gcgatetest.NewHeap(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop(context.Background())
	mux := http.NewServeMux()
	mux.Handle("GET /health", check)

	poll := httptest.NewRequest("GET", "/health", nil)
	poll.RemoteAddr = "127.0.0.1:40000" // others than loopback need Handler.Allow
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, poll)
	fmt.Print(w.Code, " ", w.Body)
	// Output: 200 ready
}
