//go:build linux

package explain

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// searchCase looks at the study's search service, in which nobody marked requests. The lock that it
// holds during a refresh is to be found.
func searchCase() harness.Case {
	const locked, free = "locked", "free"
	return harness.Case{
		Name: "explain/search", What: "a service without marks: the lock that a refresh holds, next to a refresh without",
		Ways: []string{free, locked}, Length: 5 * time.Second, Warmup: time.Second, Rounds: 5,
		Figures: []string{"lock first", "lock's share", "median", "p99+"},
		Claims: []harness.Claim{
			{Way: locked, Figure: "lock first", Target: harness.AtLeast(1)},
			{Way: free, Figure: "lock first", Target: harness.AtMost(0)},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			feeds := httptest.NewServer(http.HandlerFunc(feed))
			defer feeds.Close()
			path, err := r.Program(ctx, "examples/search")
			if err != nil {
				return err
			}
			c, err := r.Start(ctx, harness.AnyCore, nil, path, "-addr=127.0.0.1:0", "-alloc=lean", "-ttl=2s", "-refresh="+r.Way,
				fmt.Sprintf("-feeds=cnn=%[1]s/cnn,bbc=%[1]s/bbc,nyt=%[1]s/nyt", feeds.URL))
			if err != nil {
				return err
			}
			defer c.Stop()
			url, err := c.AwaitURL("msg=listening")
			if err != nil {
				return err
			}
			c.Drain()
			return refreshed(ctx, r, url)
		},
	}
}

// feed takes 100 ms, as real ones may.
func feed(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(100 * time.Millisecond)
	item := "<item><title>A president speaks</title><description>" +
		strings.Repeat("Of ships and the president's keel. ", 40) + "</description><link>http://a.example/</link></item>"
	fmt.Fprintf(w, `<rss version="2.0"><channel><title>News</title>%s</channel></rss>`, strings.Repeat(item, 30))
}

// refreshed says what is first in a trace of the service while its feeds are fetched every 2 s, by the
// first request that finds them too old. Its own wait is for the feed. At 200 requests per second the
// slowest 1% are four of each time, most of them those behind it.
func refreshed(ctx context.Context, r *harness.Run, url string) error {
	var taken []byte
	done := make(chan error, 1)
	target := loadgen.Target{Method: http.MethodPost, URL: url + "/search?term=president&cnn=on&bbc=on&nyt=on"}
	_, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{target}, Rate: harness.Unless(r, 200., 30), Connections: workers, Timeout: timeout,
		Duration: r.Length + 2*edge, Warmup: r.Warmup,
		OnMeasure: func() {
			go func() {
				time.Sleep(edge)
				var err error
				taken, err = harness.Get(ctx, fmt.Sprintf("%s/debug/pprof/trace?seconds=%g", url, r.Length.Seconds()))
				done <- err
			}()
		},
	})
	if err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	report, err := reqtrace.Analyze(ctx, reader(taken), reqtrace.Options{})
	if err != nil {
		return noRequests(r, err)
	}
	v := verdict.Of(report)
	r.Keep("said", v.Sentence)
	r.Set("lock first", number(v.Named && v.Causes[0].Cause == reqtrace.CauseLock))
	r.Set("lock's share", 100*report.Tail.Share(reqtrace.CauseLock))
	r.Set("median", report.Median.Mean.Seconds()*1e3)
	r.Set("p99+", report.Tail.Mean.Seconds()*1e3)
	return nil
}

// assertsCase runs the assertion of the guide's test, that no lock is the first cause, on two services
// next to two busy loops. In one, work of 0.15 ms holds the lock now and then. In the other, a refresh
// holds it for 20 ms of work.
func assertsCase() harness.Case {
	holds := map[string]time.Duration{"held shortly": 150 * time.Microsecond, "held long": 20 * time.Millisecond}
	return harness.Case{
		Name: "explain/asserts", What: "a test's assertion that no lock is the first cause, with one and without",
		Ways: []string{"held shortly", "held long"}, Rounds: 60, Length: 2 * time.Second,
		Claims: []harness.Claim{
			{Way: "held shortly", Figure: "wrong", Total: true, Target: harness.AtMost(1)},
			{Way: "held long", Figure: "wrong", Total: true, Target: harness.AtMost(1)},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			end, err := machine.BusyLoops(ctx, harness.Unless(r, 2, 0))
			if err != nil {
				return err
			}
			defer end()
			v, err := assertedOn(ctx, r.Length, holds[r.Way])
			if err != nil {
				return noRequests(r, err)
			}
			named := v.Named && v.Causes[0].Cause == reqtrace.CauseLock
			r.Keep("said", v.Sentence)
			r.Set("wrong", number(named != (r.Way == "held long")))
			return nil
		},
	}
}

// adder is a service that adds under a lock.
type adder struct {
	mu sync.Mutex
	n  uint64
}

// work computes for about d. It counts steps, so it does the same work if the kernel takes the CPU.
func (a *adder) work(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 60 * int(d/(100*time.Nanosecond)) {
		a.n = (a.n ^ a.n>>29) * 0x9e3779b97f4a7c15
	}
}

func (a *adder) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.work(20 * time.Microsecond)
	_, _ = io.WriteString(w, "added")
}

// assertedOn traces the service under load. Another goroutine holds its lock for hold at a time, 4 to
// 20% of the time.
func assertedOn(ctx context.Context, length, hold time.Duration) (*verdict.Verdict, error) {
	a := &adder{n: 7}
	srv := httptest.NewServer(a)
	defer srv.Close()
	return verdict.During(ctx, reqtrace.Options{}, func() {
		ctx, cancel := context.WithTimeout(ctx, length)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				a.work(hold)
				time.Sleep(max(5*hold, 5*time.Millisecond))
			}
		})
		interval := func() time.Duration { return time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond)) }
		for due := time.Now(); ctx.Err() == nil; due = due.Add(interval()) {
			time.Sleep(time.Until(due))
			all.Go(func() {
				if resp, err := srv.Client().Get(srv.URL); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
		all.Wait()
	})
}
