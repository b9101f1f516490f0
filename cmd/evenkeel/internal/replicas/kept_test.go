package replicas

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace/recorder"
)

// TestTopKept tests that top analyses each kept snapshot once, skips one that is gone, and accounts
// for each slow request.
func TestTopKept(t *testing.T) {
	rec, err := recorder.Start(t.Context(), recorder.Options{
		Slow: 20 * time.Millisecond, Every: time.Second, CPU: 1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Stop(context.Background())
	traces := map[string]int{} // how often each was fetched
	gone := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.Path, "/snapshot/") && !strings.HasSuffix(q.URL.Path, ".json") {
			if gone {
				http.NotFound(w, q)
				return
			}
			traces[q.URL.Path]++
		}
		rec.ServeHTTP(w, q)
	}))
	defer srv.Close()
	r, err := parse(srv.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	v := View{app: &cli.App{}, client: newClient(), replicas: []replica{r}}
	defer v.client.CloseIdleConnections()
	kept := func() { // has a slow request kept
		t.Helper()
		q := rec.Begin(t.Context(), "nap", "")
		time.Sleep(50 * time.Millisecond)
		q.End()
		for end := time.Now().Add(time.Minute); rec.Stats().Kept < rec.Stats().Slow; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%+v", rec.Stats())
			}
		}
	}
	look := func() history.Coverage {
		t.Helper()
		m, err := merge(v.ask(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		c := m.history.Coverage(time.Time{})
		if sum := c.Seen + c.Cut + c.Kept + c.Limited + c.Off + c.Failed; sum != c.Slow {
			t.Errorf("%d of %d slow requests are accounted for: %+v", sum, c.Slow, c)
		}
		return c
	}
	kept()
	gone = true
	if c := look(); c.Seen != 0 || c.Kept != 1 {
		t.Errorf("a snapshot that is gone: %+v", c)
	}
	gone = false
	for range 2 {
		if c := look(); c.Seen+c.Cut != 1 || c.Kept != 0 {
			t.Errorf("%+v", c)
		}
	}
	// On a busy machine a request may begin before the trace that follows a snapshot.
	for n := uint64(2); ; n++ {
		kept()
		c := look()
		if c.Seen+c.Cut+c.Limited != n || c.Kept != 0 || n == 20 {
			t.Fatalf("with %d snapshots: %+v", n, c)
		}
		if c.Seen > 0 {
			break
		}
	}
	for path, n := range traces {
		if n != 1 || len(traces) < 2 {
			t.Errorf("%s is fetched %d times, of %d", path, n, len(traces))
		}
	}
}

// TestProgressKept tests that a terminal shows how many snapshots are analysed, if that takes long,
// and nothing of it is left.
func TestProgressKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]bool{time.Second: false, 3 * time.Second: true} {
			var out bytes.Buffer
			n := newCounter(&cli.App{Stderr: &out, Terminal: true})
			n.all.Store(3)
			time.Sleep(took)
			n.add()
			n.end()
			text := out.String()
			if strings.Contains(text, "analysing snapshots: 1 of 3") != want ||
				strings.HasSuffix(text, "\r\x1b[K") != want {
				t.Errorf("after %v: %q", took, text)
			}
		}
	})
}
