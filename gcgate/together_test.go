package gcgate

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestGateAndTransportTogether: while the gate of one replica collects for real, the Transport
// sends to the other; then to both again.
func TestGateAndTransportTogether(t *testing.T) {
	g, err := Start(Options{Policy: Drain, Signals: []Signal{&InBand{}}, Period: -1, MinTriggerBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	var gated, other atomic.Int64
	count := func(n *atomic.Int64) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.Add(1) })
	}
	a := httptest.NewServer(g.Middleware(count(&gated)))
	defer a.Close()
	b := httptest.NewServer(count(&other))
	defer b.Close()
	tr := &Transport{Targets: []string{a.URL, b.URL}}
	defer tr.Close()
	client := &http.Client{Transport: tr}
	get := func() {
		resp, err := client.Get("http://service.test/")
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	collected := make(chan error, 1)
	go func() { collected <- g.Collect(t.Context()) }()
	for done := false; !done; time.Sleep(time.Millisecond) {
		get()
		select {
		case err := <-collected:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
	}
	s := g.Stats()
	if s.Stragglers > 0 || s.Phases[Announcing].Total > 90*time.Millisecond {
		t.Errorf("%d requests came while it collected, announcing took %v: the Transport did not move on", s.Stragglers, s.Phases[Announcing].Total)
	}
	before := gated.Load()
	for range 1000 {
		if get(); gated.Load() > before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the Transport did not come back")
}
