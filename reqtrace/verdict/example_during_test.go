package verdict_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// cache is a service with a mistake: it is locked while it is refreshed.
type cache struct {
	mu    sync.Mutex
	query time.Duration // what a refresh takes
}

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
	time.Sleep(c.query) // stands for one
}

// load makes requests of the cache. Each 20th begins after a refresh has the lock, so that it waits
// whatever else the machine does.
func (c *cache) load() {
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
}

// A test of your own, with a server, its client and the trace in one process: it says that the
// slowest requests wait for a lock, and where. A busy machine may keep one of them for longer than
// the lock does: then that is held for twice as long.
func ExampleDuring() {
	for query := 300 * time.Millisecond; query < 20*time.Second; query *= 2 {
		c := &cache{query: query}
		v, err := verdict.During(context.Background(), reqtrace.Options{}, c.load)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(v.Causes) == 0 {
			continue
		}
		first := v.Causes[0] // in a test: if v.Named && first.Cause == reqtrace.CauseLock { t.Error(v) }
		if v.Named && first.Cause == reqtrace.CauseLock && strings.Contains(first.Site, "(*cache).ServeHTTP") {
			fmt.Println("the slowest wait for a lock, in ServeHTTP of the cache")
			fmt.Println("the guide says more:", first.Guide)
			return
		}
	}
	// Output:
	// the slowest wait for a lock, in ServeHTTP of the cache
	// the guide says more: docs/explain.md#mutex
}
