package httpgate

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// startGate starts a gate over a heap that nothing fills, until the test ends.
func startGate(t testing.TB, o gcgate.Options) (*gcgate.Gate, *gcgatetest.Heap) {
	t.Helper()
	heap := gcgatetest.NewHeap()
	heap.Rate, heap.Mark, heap.Live = 0, time.Millisecond, 1<<20
	o.Collector, o.Logger, o.Period, o.DisableTurns = heap, slog.New(slog.DiscardHandler), -1, o.Turns == nil
	g, err := gcgate.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop(context.Background()) })
	return g, heap
}

// newHandler wraps next for such a gate.
func newHandler(t testing.TB, o gcgate.Options, next http.HandlerFunc) *handler {
	t.Helper()
	g, _ := startGate(t, o)
	return Wrap(g, next).(*handler)
}

// newRefusing is newHandler with a gate that refuses until the test ends: it expects a collection
// of a huge heap to take 10 s, so that one that hangs is not overdue for 100 s.
func newRefusing(t testing.TB, next http.HandlerFunc) *handler {
	t.Helper()
	g, heap := startGate(t, gcgate.Options{Policy: gcgate.PolicyShed})
	hang := make(chan struct{})
	heap.Do(func() {
		heap.Hang, heap.Live = hang, 1<<40
		heap.EndCycle()
	})
	eventually(t, "the gate sees a huge heap", func() bool { return g.Stats().Expected > 5*time.Second })
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		g.Collect(context.Background())
	}()
	t.Cleanup(func() { close(hang); <-collected })
	eventually(t, "the gate refuses", g.Refusing)
	return Wrap(g, next).(*handler)
}

// withInBand gives h an in-band signal, attached, that only the test announces by.
func withInBand(h *handler) *InBand {
	h.m.inBand = &InBand{quietFor: time.Millisecond}
	h.m.inBand.Attach(h.m.gate)
	return h.m.inBand
}

// drain announces an absence to whoever calls from now on.
func drain(t *testing.T, b *InBand, expected time.Duration) {
	t.Helper()
	if err := b.Drain(t.Context(), expected); err != nil {
		t.Fatal(err)
	}
}

func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func get(header ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func body(resp *http.Response) string {
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// eventually waits until ok holds; it gives up after a minute at least.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 60_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}
