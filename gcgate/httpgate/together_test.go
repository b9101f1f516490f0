package httpgate_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/client"
	"evenkeel.dev/gcgate/httpgate"
	"evenkeel.dev/gcgate/internal/inband"
)

// witness stands between a Transport and its targets, and sees what it hears and what it does.
type witness struct {
	base  http.RoundTripper
	gated string // the host of the target to watch

	drained atomic.Bool  // that target has said so, and no probe has heard otherwise
	heard   atomic.Bool  // it has said so once
	strayed atomic.Int64 // requests that went there in that time
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	probe := inband.IsOne(r.Header, inband.HeaderProbe)
	if r.URL.Host != w.gated {
		return w.base.RoundTrip(r)
	}
	if !probe && w.drained.Load() {
		w.strayed.Add(1)
	}
	resp, err := w.base.RoundTrip(r)
	if err == nil {
		if _, drained := inband.ParseMillis(resp.Header, inband.HeaderDrain); drained {
			w.drained.Store(true)
			w.heard.Store(true)
		} else if probe {
			w.drained.Store(false)
		}
	}
	return resp, err
}

// TestGateAndTransportTogether: while the gate of one replica collects for real, the Transport
// sends to the other; then to both again.
func TestGateAndTransportTogether(t *testing.T) {
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{&httpgate.InBand{}}, Period: -1,
		MinTriggerBytes: 1 << 40,
		Logger:          slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	var gated, other atomic.Int64
	a := httptest.NewServer(httpgate.Wrap(g,
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { gated.Add(1) })))
	defer a.Close()
	b := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer b.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	w := &witness{base: base, gated: strings.TrimPrefix(a.URL, "http://")}
	tr := &client.Transport{Targets: []string{a.URL, b.URL}, Base: w}
	defer tr.Close()
	c := &http.Client{Transport: tr}
	get := func() {
		resp, err := c.Get("http://service.test/")
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
	for n := 0; n < 1000 && !w.heard.Load(); n++ {
		collected := make(chan error, 1)
		go func() { collected <- g.Collect(t.Context()) }()
		for done := false; !done; {
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
	}
	if n := w.strayed.Load(); !w.heard.Load() || n > 0 {
		t.Errorf("heard: %v; %d requests went to a drained replica", w.heard.Load(), n)
	}
	before := gated.Load()
	for end := time.Now().Add(time.Minute); gated.Load() == before; {
		get()
		if time.Now().After(end) {
			t.Fatal("the Transport never comes back")
		}
	}
}
