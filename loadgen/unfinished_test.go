package loadgen

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestInterruptedCountsWhatWaited interrupts a load on a service that hangs, once it has so many
// requests and some time has passed: what was due must not vanish.
func TestInterruptedCountsWhatWaited(t *testing.T) {
	const wait = 50 * time.Millisecond
	hang, arrived := make(chan struct{}), make(chan struct{}, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hang
	}))
	defer srv.Close()
	defer close(hang)
	for name, o := range map[string]Options{
		"closed":         {Connections: 5},
		"open":           {Rate: 200, Connections: 1000},
		"open, backlog":  {Rate: 200, Connections: 3},
		"over transport": {Connections: 5, Transport: &http.Transport{DisableKeepAlives: true}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Targets, o.Duration, o.Timeout = []Target{{URL: srv.URL}}, time.Hour, time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			least := min(int64(o.Connections), 10)
			go func() {
				for range least {
					<-arrived
				}
				time.Sleep(wait)
				cancel()
			}()
			r, err := Run(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Interrupted || r.Answered != 0 || r.Failed != 0 || r.Unfinished < least || r.UnfinishedMax < wait {
				t.Errorf("interrupted %v, answered %d, failed %d, unfinished %d (want at least %d) after up to %v",
					r.Interrupted, r.Answered, r.Failed, r.Unfinished, least, r.UnfinishedMax)
			}
		})
		for len(arrived) > 0 {
			<-arrived
		}
	}
}

// TestInterruptedCountsTheBacklog has requests fall due that no connection was free for.
func TestInterruptedCountsTheBacklog(t *testing.T) {
	hang := make(chan struct{})
	var arrived atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived.Add(1)
		<-hang
	}))
	defer srv.Close()
	defer close(hang)
	h := newHandLoop(t, Options{Targets: []Target{{URL: srv.URL}}, Connections: 3, Rate: 1, Timeout: time.Hour})
	for range 10 {
		h.release()
	}
	h.until("three are sent", func() bool { return arrived.Load() == 3 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	go h.end()
	h.drain(ctx, h.e.now()+int64(time.Hour))
	if r := h.end(); r.Unfinished != 10 || r.Failed != 0 || r.Answered != 0 {
		t.Errorf("unfinished %d of 10, failed %+v", r.Unfinished, r.Failures)
	}
}
