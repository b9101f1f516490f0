package haproxy

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// TestAgentCheckLogsToTheGate, and to its own Logger where that is set.
func TestAgentCheckLogsToTheGate(t *testing.T) {
	for _, own := range []bool{false, true} {
		var gateLog, ownLog bytes.Buffer
		logTo := func(b *bytes.Buffer) *slog.Logger {
			return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}
		a := &AgentCheck{}
		if own {
			a.Logger = logTo(&ownLog)
		}
		heap := gcgatetest.NewHeap()
		heap.Rate = 1 // it never collects
		g, err := gcgate.Start(t.Context(), gcgate.Options{
			Signals: []gcgate.Signal{a}, DisableTurns: true, Collector: heap, Logger: logTo(&gateLog),
		})
		if err != nil {
			t.Fatal(err)
		}
		a.access.Admit("tcp", "192.0.2.1:1", []netip.Prefix{}, a.logger(), &agentAdvice)
		if err := g.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		got, other := gateLog.String(), ownLog.String()
		if own {
			got, other = other, got
		}
		const want = "refused a poll"
		if strings.Count(got, want) != 1 || strings.Contains(other, want) {
			t.Errorf("own logger: %v: %q is not once in the right log:\n%s\nthe other:\n%s", own, want, got, other)
		}
	}
}
