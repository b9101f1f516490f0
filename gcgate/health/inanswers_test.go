package health

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// TestHandlerInAnswers: a balancer that polls every half second is drained within some
// milliseconds, and Draining says from when to when answers shall tell it.
func TestHandlerInAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{Fall: 1, Rise: 1, InAnswers: true}
		heap := gcgatetest.NewHeap()
		heap.Rate = 0
		g := startGate(t, gcgate.Options{}, heap, new(logBuffer))
		defer g.Stop(context.Background())
		h.Attach(g)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			r := httptest.NewRequest("GET", "/health", nil)
			r.RemoteAddr = "127.0.0.1:1"
			for sleep(ctx, 500*time.Millisecond) {
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		}()
		time.Sleep(2100 * time.Millisecond)
		if err := h.CanConfirm(100 * time.Millisecond); err != nil {
			t.Errorf("CanConfirm returned %v", err)
		}
		if h.Draining() {
			t.Error("it is draining before Drain")
		}
		begin := time.Now()
		if err := h.Drain(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 20*time.Millisecond {
			t.Errorf("Drain took %v", took)
		}
		if !h.Draining() {
			t.Error("it is not draining after Drain")
		}
		if err := h.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if h.Draining() {
			t.Error("it is draining after Ready")
		}
	})
}
