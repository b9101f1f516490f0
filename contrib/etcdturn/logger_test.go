package etcdturn

import (
	"log/slog"
	"testing"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// TestLogIsTheGates tests that the turns log to the gate's logger, unless Options has another.
func TestLogIsTheGates(t *testing.T) {
	for _, own := range []*slog.Logger{nil, slog.New(slog.DiscardHandler)} {
		turns, err := New(Options{Endpoints: []string{"127.0.0.1:1"}, Logger: own})
		if err != nil {
			t.Fatal(err)
		}
		defer turns.Close()
		heap := gcgatetest.NewHeap()
		heap.Rate = 1 // it never collects
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Policy: gcgate.PolicyThrough, Turns: turns, Collector: heap, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := turns.log(); (got == g.Logger()) != (own == nil) || own != nil && got != own {
			t.Errorf("with the logger %p it logs to %p; the gate's is %p", own, got, g.Logger())
		}
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
