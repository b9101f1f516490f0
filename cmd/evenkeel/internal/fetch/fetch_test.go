package fetch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFetchPage: a process that is stopped is told from one that is gone, and what is too long.
func TestFetchPage(t *testing.T) {
	over := make(chan bool)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/half":
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			fallthrough
		case "/stopped":
			<-over
		case "/long":
			w.Write(make([]byte, 2<<20))
		}
	}))
	defer srv.Close()
	defer close(over)
	for path, want := range map[string]string{
		"/stopped": "no whole answer within 50ms: is the process stopped",
		"/half":    "no whole answer within 50ms",
	} {
		c := &http.Client{Timeout: 50 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
		if _, err := Page(t.Context(), c, srv.URL+path, 1<<20, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if _, err := Page(t.Context(), c, srv.URL+"/long", 1<<20, ""); err == nil ||
		!strings.Contains(err.Error(), "it is over 1 MiB") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Page(ctx, c, srv.URL, 1<<20, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
