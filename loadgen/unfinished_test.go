package loadgen

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestInterruptedCountsWhatWaited interrupts a load on a service that hangs: what was due must
// not vanish.
func TestInterruptedCountsWhatWaited(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer srv.Close()
	defer close(hang)
	for name, o := range map[string]Options{
		"closed":         {Connections: 5},
		"open":           {Rate: 200},
		"open, backlog":  {Rate: 200, Connections: 3},
		"over transport": {Connections: 5, Transport: &http.Transport{DisableKeepAlives: true}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Targets, o.Duration = []Target{{URL: srv.URL}}, time.Hour
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			r, err := Run(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			least := int64(o.Connections)
			if o.Rate > 0 {
				least = 10 // of some 60 due; a slow machine may have started late
			}
			if !r.Interrupted || r.Answered != 0 || r.Failed != 0 || r.Unfinished < least || r.UnfinishedMax < 100*time.Millisecond {
				t.Errorf("interrupted %v, answered %d, failed %d, unfinished %d (want at least %d) after up to %v",
					r.Interrupted, r.Answered, r.Failed, r.Unfinished, least, r.UnfinishedMax)
			}
		})
	}
}
