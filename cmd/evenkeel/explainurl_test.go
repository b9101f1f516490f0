package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

// TestExplainURL takes a trace of this very process while it serves.
func TestExplainURL(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait() }()
	wg.Go(func() {
		for ctx.Err() == nil {
			if res, err := srv.Client().Get(srv.URL); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			time.Sleep(time.Millisecond)
		}
	})
	r := call("explain", strings.TrimPrefix(srv.URL, "http://")+"/?seconds=0.3")
	for end := time.Now().Add(time.Minute); r.code == cli.ExitFailed && strings.Contains(r.stderr, "request") &&
		time.Now().Before(end); {
		r = call("explain", srv.URL+"/debug/pprof/trace?seconds=1") // a busy machine
	}
	r.check(t, cli.ExitOK, []string{"The slowest 1% take", "whole requests (without marks)"},
		[]string{"taking a trace of 0.3 s from http://"})
}

// TestExplainRecorder explains what a recorder has, and asks for nothing beside it.
func TestExplainRecorder(t *testing.T) {
	b, err := os.ReadFile("../../reqtrace/testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/evenkeel/snapshot", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) })
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) { t.Errorf("asked for %s", q.URL) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	r := call("explain", srv.URL+"/debug/evenkeel/")
	r.check(t, cli.ExitOK, []string{"The slowest 1% take", "whole requests"}, nil)
	if strings.Contains(r.stderr, "taking a trace") || strings.Contains(r.stderr, "profile") {
		t.Error(r.stderr)
	}
}
