package gcgate

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestGateAndTransportTogether: while the gate of one replica collects for real, the Transport
// sends to the other; then to both again.
func TestGateAndTransportTogether(t *testing.T) {
	g, err := Start(Options{Policy: Drain, Signals: []Signal{&InBand{}}, Period: -1, MinTriggerBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	tr := &Transport{}
	var gated, other, strayed atomic.Int64
	a := httptest.NewServer(g.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if gated.Add(1); tr.targets[0].away.Load() != 0 {
			strayed.Add(1)
		}
	})))
	defer a.Close()
	b := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer b.Close()
	tr.Targets = []string{a.URL, b.URL}
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
	get()
	// One client sends its requests in a row, so that none is under way when it hears. A stall of
	// the machine may keep it from hearing at all: then the gate collects again.
	heard := false
	for range 1000 {
		collected := make(chan error, 1)
		go func() { collected <- g.Collect(t.Context()) }()
		for done := false; !done; {
			get()
			heard = heard || tr.targets[0].away.Load() != 0
			select {
			case err := <-collected:
				if err != nil {
					t.Fatal(err)
				}
				done = true
			default:
			}
		}
		if heard {
			break
		}
	}
	if n := strayed.Load(); !heard || n > 0 {
		t.Errorf("heard: %v; %d requests went to a replica that is away", heard, n)
	}
	before := gated.Load()
	eventually(t, "the Transport comes back", func() bool {
		get()
		return gated.Load() > before
	})
}
