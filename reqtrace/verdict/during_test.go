package verdict_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// cache is a service with a mistake: it is locked while it is refreshed.
type cache struct{ mu sync.Mutex }

func (c *cache) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(w, "news")
}

// refresh asks for news with the lock held; locked is closed when it holds it.
func (c *cache) refresh(locked chan<- bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(locked)
	time.Sleep(300 * time.Millisecond) // stands for a query
}

// A test of your own, with a server, its client and the trace in one process: it says that the slowest requests wait for
// a lock, and where. Each request begins after the refresh has the lock, so that it waits whatever else the machine does.
func ExampleDuring() {
	c := &cache{}
	v, err := verdict.During(context.Background(), reqtrace.Options{}, func() {
		server := httptest.NewServer(c)
		defer server.Close()
		for i := range 60 {
			if i%20 == 19 {
				locked := make(chan bool)
				go c.refresh(locked)
				<-locked
			}
			res, err := server.Client().Get(server.URL)
			if err != nil {
				fmt.Println(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	first := v.Causes[0] // in a test: if v.Named && first.Cause == reqtrace.CauseLock { t.Error(v) }
	fmt.Println("named:", v.Named)
	fmt.Println("first:", first.Cause)
	fmt.Println("waits in ServeHTTP of the cache:", strings.Contains(first.Site, "(*cache).ServeHTTP"))
	fmt.Println("the guide says more:", first.Guide)
	// Output:
	// named: true
	// first: lock
	// waits in ServeHTTP of the cache: true
	// the guide says more: docs/guides/explain.md#mutex
}

// TestDuringErrors: one trace at a time, requests there have to be, and the trace ends whatever f does.
func TestDuringErrors(t *testing.T) {
	nothing := func() {}
	if _, err := verdict.During(t.Context(), reqtrace.Options{}, nothing); err == nil {
		t.Error("no error without a request")
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = verdict.During(t.Context(), reqtrace.Options{}, func() { panic("f") })
	}()
	if trace.IsEnabled() {
		t.Fatal("the trace goes on after a panic")
	}
	_, err := verdict.During(t.Context(), reqtrace.Options{}, func() {
		if _, err := verdict.During(t.Context(), reqtrace.Options{}, nothing); err == nil || !strings.Contains(err.Error(), "end the other trace") {
			t.Errorf("a trace within a trace: %v", err)
		}
	})
	if err == nil {
		t.Error("no error without a request")
	}
}
