package httpgate

import (
	"net/http"
	"sync/atomic"
	"testing"

	"evenkeel.dev/gcgate"
)

// TestEnvoyFail: answers carry Envoy's header exactly while they are asked to, streams' answers too.
func TestEnvoyFail(t *testing.T) {
	g, _ := startGate(t, gcgate.Options{})
	var draining atomic.Bool
	m, err := New(g, Options{EnvoyFail: draining.Load})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, want := range []bool{false, true, false} {
		draining.Store(want)
		for _, r := range []*http.Request{get(), get("Accept", "text/event-stream")} {
			if got := serve(h, r).Header.Get("x-envoy-immediate-health-check-fail") != ""; got != want {
				t.Errorf("draining %v: the answer has the header: %v", want, got)
			}
		}
	}
	if serve(Wrap(g, h), get()).Header.Get("x-envoy-immediate-health-check-fail") != "" {
		t.Error("without the option there is the header")
	}
}
