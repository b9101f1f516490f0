package health

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// TestHandlerLogsToTheGate, and to its own Logger where that is set.
func TestHandlerLogsToTheGate(t *testing.T) {
	for _, own := range []bool{false, true} {
		var gateLog, ownLog bytes.Buffer
		logTo := func(b *bytes.Buffer) *slog.Logger {
			return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}
		h := &Handler{}
		if own {
			h.Logger = logTo(&ownLog)
		}
		heap := gcgatetest.NewHeap()
		heap.Rate = 1 // it never collects
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Signals: []gcgate.Signal{h}, DisableTurns: true, Collector: heap, Logger: logTo(&gateLog),
		})
		if err != nil {
			t.Fatal(err)
		}
		poll := httptest.NewRequest("GET", "/", nil)
		poll.RemoteAddr = "192.0.2.1:1"
		h.ServeHTTP(httptest.NewRecorder(), poll)
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(ownLog.String(), "refused a poll"); got != own || strings.Contains(gateLog.String(),
			"refused a poll") == own {
			t.Errorf("own logger: %v: own log\n%s\nthe gate's\n%s", own, ownLog.String(), gateLog.String())
		}
	}
}
