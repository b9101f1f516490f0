package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/examples/raftkv/kv"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// patience bounds what only a hang meets.
const patience = time.Minute

// TestSnapshot keeps one of three members away until the others have dropped the log that it
// misses.
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

// TestStream: a Read returns all that waits, and waits itself where nothing does, until the
// stream's time is over.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan message, 10)
		s := newStream(t.Context(), queue, message{data: []byte("one ")})
		for _, text := range []string{"two ", "three "} {
			queue <- message{data: []byte(text)}
		}
		b := make([]byte, 6)
		var got strings.Builder
		for got.Len() < len("one two three ") {
			n, err := s.Read(b)
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			got.Write(b[:n])
		}
		if got.String() != "one two three " {
			t.Errorf("read %q", got.String())
		}
		go func() {
			time.Sleep(streamFor / 2)
			queue <- message{data: []byte("four"), snapshot: true}
		}()
		begin := time.Now()
		if n, err := s.Read(b); err != nil || string(b[:n]) != "four" || time.Since(begin) != streamFor/2 {
			t.Errorf("read %q, %v after %v", b[:n], err, time.Since(begin))
		}
		if _, err := s.Read(b); err != io.EOF || time.Since(begin) != streamFor {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if !s.end() {
			t.Error("the snapshot is forgotten")
		}
	})
}

// TestStreamGivenUp: a Read that waits ends, and takes nothing more.
func TestStreamGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan message, 10)
		s := newStream(t.Context(), queue, message{data: []byte("one")})
		read := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, s)
			read <- err
		}()
		synctest.Wait()
		if s.end() {
			t.Error("there was no snapshot")
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
		queue <- message{}
		synctest.Wait()
		if len(queue) != 1 {
			t.Error("a message was taken when all was over")
		}
	})
}

// TestSentAgainBeforeTheFirstHasEnded: the first attempt, given up, does not take the news from the
// second.
func TestSentAgainBeforeTheFirstHasEnded(t *testing.T) {
	s, r := newStore(), request{"a", 1}
	first, second := s.await(r), s.await(r)
	s.forget(r)
	if err := s.apply([]byte(`{"c":"a","s":1,"k":"x","v":"y"}`)); err != nil {
		t.Fatal(err)
	}
	for _, done := range []<-chan struct{}{first, second} {
		select {
		case <-done:
		default:
			t.Error("it is not told that the write was made")
		}
	}
	s.forget(r)
	if len(s.waiting) > 0 {
		t.Errorf("%v is left", s.waiting)
	}
}
