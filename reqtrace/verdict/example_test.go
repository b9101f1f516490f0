package verdict_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
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

// A test of a service's own may fail where a lock is what makes its slowest requests slow. This trace
// is of a service whose cache is locked while it is refreshed.
func Example() {
	file, err := os.Open("../testdata/go1.26.trace.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	trace, err := gzip.NewReader(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := reqtrace.Analyze(context.Background(), trace, reqtrace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	v := verdict.Of(report)
	for _, c := range v.Causes {
		if v.Named && c.Cause == reqtrace.CauseLock && c.Share > .3 {
			fmt.Println("too much of the tail is a lock:")
		}
	}
	fmt.Println(strings.ReplaceAll(v.Sentence, ". ", ".\n"))
	// Output:
	// too much of the tail is a lock:
	// 99% of the extra time is waiting for a mutex.
	// main.(*cache).refresh (main.go:43) holds it while sleeping, up to 21.5 ms at a time.
	// Requests wait in main.(*cache).get (main.go:33), called from main.main.func1 (main.go:81).
}
