package feed

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

func TestFetch(t *testing.T) {
	exact := rss("<item><title>x</title></item>")
	exact += strings.Repeat("\n", maxBytes-len(exact))
	timeout := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	tests := []struct {
		name    string
		handler http.HandlerFunc
		ok      func(error) bool
	}{
		{"good", reply(rss("<item><title>x</title></item>")), func(err error) bool { return err == nil }},
		{"as large as allowed", reply(exact), func(err error) bool { return err == nil }},
		{"one byte too large", reply(exact + "\n"), func(err error) bool { return errors.Is(err, ErrTooLarge) }},
		{"endless", endless, func(err error) bool { return errors.Is(err, ErrTooLarge) }},
		{"not found", http.NotFound, func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "404 Not Found")
		}},
		{"bad XML", reply("<rss><channel><item>"), func(err error) bool { return err != nil }},
		{"not RSS", reply("<html></html>"), func(err error) bool { return errors.Is(err, ErrNotRSS) }},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timeout},
		{"stops halfway", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<rss><channel>")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, timeout},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, func(err error) bool {
			return errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "127.0.0.1")
		}},
		{"redirects in a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/", http.StatusFound)
		}, func(err error) bool { return err != nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			wait := time.Minute
			if tt.name == "silent" || tt.name == "stops halfway" {
				wait = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			items, err := Fetch(ctx, srv.Client(), srv.URL)
			if !tt.ok(err) {
				t.Errorf("%d items, error %v", len(items), err)
			}
		})
	}
}

func TestFetchDown(t *testing.T) {
	_, err := Fetch(t.Context(), http.DefaultClient, "http://127.0.0.1:1/")
	if err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v, want the cause without the address", err)
	}
	if _, err := Fetch(t.Context(), http.DefaultClient, "http://a b/"); err == nil {
		t.Error("no error from an address that is none")
	}
}

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

func endless(w http.ResponseWriter, _ *http.Request) {
	io.WriteString(w, "<rss><channel>")
	for chunk := strings.Repeat("<!-- more -->", 1000); ; {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }

var quiet = slog.New(slog.DiscardHandler)
