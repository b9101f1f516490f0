package httpgate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// guardLog is a log for several goroutines.
type guardLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *guardLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *guardLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// guard guards a handler that answers 200, over a heap that nothing fills.
func guard(t *testing.T, o gcgate.Options) (*Guarded, *guardLog) {
	t.Helper()
	log, heap := &guardLog{}, gcgatetest.NewHeap()
	heap.Rate, heap.Mark = 0, 0
	o.Collector, o.Period, o.Logger = heap, -1, slog.New(slog.NewTextHandler(log, nil))
	g := Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), o)
	t.Cleanup(func() { _ = g.Stop(context.Background()) })
	return g, log
}

func TestGuardCounts(t *testing.T) {
	g, log := guard(t, gcgate.Options{})
	for range 3 {
		serve(g, get())
	}
	if _, n := g.Gate().Requests(); n != 3 || g.Err() != nil {
		t.Errorf("%d requests counted, want 3; %v", n, g.Err())
	}
	if !strings.Contains(log.String(), "Options.Signals and Turns") {
		t.Errorf("the log does not say what is missing:\n%s", log)
	}
}

// TestGuardSheds behind a balancer that tries another replica.
func TestGuardSheds(t *testing.T) {
	heap := gcgatetest.NewHeap()
	heap.Rate, heap.Mark = 0, 0
	g := Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), gcgate.Options{
		Policy: gcgate.PolicyShed, Turns: gcgate.FileTurns{Path: t.TempDir() + "/turns"},
		HoldTurn: -1, Period: -1,
		Collector: heap, Logger: slog.New(slog.DiscardHandler),
	})
	defer g.Stop(context.Background())
	hang := make(chan struct{})
	heap.Do(func() { heap.Hang = hang })
	collected := make(chan error, 1)
	go func() { collected <- g.Gate().Collect(context.Background()) }()
	eventually(t, "the gate refuses", g.Gate().Refusing)
	if resp := serve(g, get()); resp.StatusCode != http.StatusServiceUnavailable ||
		resp.Header.Get("Retry-After") == "" {
		t.Errorf("while it collects: status %d, %v", resp.StatusCode, resp.Header)
	}
	close(hang)
	if err := <-collected; err != nil {
		t.Error(err)
	}
	if resp := serve(g, get()); resp.StatusCode != http.StatusOK {
		t.Errorf("after it: status %d", resp.StatusCode)
	}
}

// TestGuardServesWithoutAGate that cannot start, and says why.
func TestGuardServesWithoutAGate(t *testing.T) {
	g, log := guard(t, gcgate.Options{Policy: gcgate.PolicyShed})
	var oe *evenkeel.OptionError
	if !errors.As(g.Err(), &oe) || oe.Option != "Turns" || g.Gate() != nil {
		t.Errorf("error %v, gate %v", g.Err(), g.Gate())
	}
	if resp := serve(g, get()); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "gcgate.FileTurns") {
		t.Errorf("the log does not say what to do:\n%s", log)
	}
}
