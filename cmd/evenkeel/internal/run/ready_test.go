package run

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/proc"
)

// sleeper stands for a server that runs for so long.
func sleeper(t *testing.T, seconds string) *proc.Process {
	t.Helper()
	p, err := proc.Start(proc.Options{Args: []string{"sleep", seconds}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background(), 0) })
	return p
}

func TestReadiness(t *testing.T) {
	var n atomic.Int64
	mux := http.NewServeMux()
	status := func(path string, s int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(s) })
	}
	status("/ok", 200)
	status("/forbidden", 403)
	status("/broken", 503)
	mux.Handle("/moved", http.RedirectHandler("/broken", http.StatusFound))
	mux.HandleFunc("/later", func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) < 4 {
			w.WriteHeader(500)
		}
	})
	s := httptest.NewUnstartedServer(mux)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := s.Client().Transport.(*http.Transport).TLSClientConfig
	server := sleeper(t, "1000")
	for _, path := range []string{"/ok", "/forbidden", "/moved", "/later"} {
		if err := AwaitReady(t.Context(), s.URL+path, c, server, time.Minute); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The time is up at the third look at what answers 503.
	timeUp, end := context.WithCancelCause(t.Context())
	defer end(nil)
	looks := 0
	mux.HandleFunc("/broken-for-long", func(w http.ResponseWriter, _ *http.Request) {
		if looks++; looks == 3 {
			end(errNotReady)
		}
		w.WriteHeader(503)
	})
	err := AwaitReady(timeUp, s.URL+"/broken-for-long", c, server, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "-ready-timeout") {
		t.Errorf("answers 503: %v", err)
	}
	// However short the time is, one look is taken.
	err = AwaitReady(t.Context(), "http://127.0.0.1:1/", c, server, time.Nanosecond)
	if err == nil || !strings.Contains(err.Error(), "within 1ns") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("no time: %v", err)
	}
	err = AwaitReady(t.Context(), s.URL+"/ok", nil, server, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := AwaitReady(ctx, s.URL+"/broken", c, server, time.Minute); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
	err = AwaitReady(t.Context(), s.URL+"/broken", c, sleeper(t, "0.1"), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "exit status 0") {
		t.Errorf("the server ended: %v", err)
	}
}

func TestRefused(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if refused(t.Context(), s.URL) {
		t.Error("refused where somebody listens")
	}
	if !refused(t.Context(), "http://127.0.0.1:1/") {
		t.Error("not refused where nobody does")
	}
}

func TestFree(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	if err := free(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), "another port") {
		t.Errorf("somebody listens: %v", err)
	}
	if err := free(t.Context(), "http://127.0.0.1:1/"); err != nil { // a port that nobody is given
		t.Errorf("nobody listens: %v", err)
	}
}

func TestWithGCTrace(t *testing.T) {
	for _, tt := range []struct {
		inherited string
		env       []string
		want      string
	}{
		{"", nil, "GODEBUG=gctrace=1"},
		{"madvdontneed=1", nil, "GODEBUG=madvdontneed=1,gctrace=1"},
		{
			"madvdontneed=1",
			[]string{"GOGC=off", "GODEBUG=netdns=go"},
			"GOGC=off GODEBUG=netdns=go GODEBUG=netdns=go,gctrace=1",
		},
		{"gctrace=0", nil, "GODEBUG=gctrace=0,gctrace=1"}, // the last one holds
	} {
		t.Setenv("GODEBUG", tt.inherited)
		if got := strings.Join(withGCTrace(tt.env), " "); got != tt.want {
			t.Errorf("GODEBUG=%s and %q: %q, want %q", tt.inherited, tt.env, got, tt.want)
		}
	}
}
