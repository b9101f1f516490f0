package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"

	"evenkeel.dev/examples/raftkv/kv"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// patience ends what hangs.
const patience = time.Minute

// TestSnapshot keeps one of three members away until it misses a part of the log.
func TestSnapshot(t *testing.T) {
	var urls []string
	var servers []*httptest.Server
	var nodes [3]atomic.Pointer[kv.Node]
	var away atomic.Bool // the last one
	for i := range nodes {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := nodes[i].Load()
			switch {
			case n == nil, i == 2 && away.Load():
				http.Error(w, "not there", http.StatusServiceUnavailable)
			case r.URL.Path == "/raft":
				n.Messages().ServeHTTP(w, r)
			default:
				n.Handler().ServeHTTP(w, r)
			}
		}))
		defer s.Close()
		urls, servers = append(urls, s.URL), append(servers, s)
	}
	for i := range nodes {
		n, err := kv.Start(kv.Config{ID: uint64(i) +
			1, Members: urls, SnapshotEvery: 50, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Stop()
		nodes[i].Store(n)
	}
	away.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := servers[0].Client()
	c := &kv.Client{Group: &kv.Group{Members: urls[:2], HTTP: client}, ID: "c"}
	for i := range 200 {
		if err := c.Put(ctx, fmt.Sprint("k", i%7), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	away.Store(false)
	for k := range 7 {
		want := fmt.Sprint(199 - (199-k)%7)
		got, err := "", error(nil)
		for got != want && ctx.Err() == nil {
			got, err = get(client, urls[2]+fmt.Sprint("/kv/k", k))
			time.Sleep(time.Millisecond)
		}
		if got != want {
			t.Errorf("k%d is %q, %v, want %s", k, got, err, want)
		}
	}
}

func get(client *http.Client, url string) (string, error) {
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(text), err
}
