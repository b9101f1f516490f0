//go:build linux

// Package explain has the cases of package reqtrace: what its analysis costs, and the lock that it
// finds in the search service. The tests of package planted show whether it names the right causes.
package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// searchCase looks at a service without marks, in which a refresh holds a lock.
func searchCase() harness.Case {
	const locked, free = "locked", "free"
	return harness.Case{
		Name: "explain/search",
		What: "a service without marks: the lock that a refresh holds, next to a refresh without",
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
			c, err := r.Start(ctx, harness.AnyCore, nil, path, "-addr=127.0.0.1:0", "-alloc=lean", "-ttl=2s",
				"-refresh="+r.Way,
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

func feed(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(100 * time.Millisecond)
	item := "<item><title>A president speaks</title><description>" +
		strings.Repeat("Of ships and the president's keel. ",
			40) + "</description><link>http://a.example/</link></item>"
	fmt.Fprintf(w, `<rss version="2.0"><channel><title>News</title>%s</channel></rss>`, strings.Repeat(item, 30))
}

// refreshed sets what the verdict names first. The first request that finds the feeds older than 2
// s fetches them. At 200 requests per second the slowest 1% are four of each fetch, most of them
// behind the lock.
func refreshed(ctx context.Context, r *harness.Run, url string) error {
	const edge = 200 * time.Millisecond // load before the trace and after it
	var taken []byte
	done := make(chan error, 1)
	target := loadgen.Target{Method: http.MethodPost, URL: url + "/search?term=president&cnn=on&bbc=on&nyt=on"}
	_, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{target}, Rate: harness.Unless(r, 200., 30), Connections: 400, Timeout: time.Minute,
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
	report, err := reqtrace.Analyze(ctx, bytes.NewReader(taken), reqtrace.Options{})
	if r.Quick && errors.Is(err, reqtrace.ErrNoRequests) {
		return nil // the trace is short
	}
	if err != nil {
		return err
	}
	v := verdict.Of(report)
	r.Keep("said", v.Sentence)
	r.Set("lock first", 0)
	if v.Named && v.Causes[0].Cause == reqtrace.CauseLock {
		r.Set("lock first", 1)
	}
	r.Set("lock's share", 100*report.Tail.Share(reqtrace.CauseLock))
	r.Set("median", report.Median.Mean.Seconds()*1e3)
	r.Set("p99+", report.Tail.Mean.Seconds()*1e3)
	return nil
}

// Cases returns the cases.
func Cases() []harness.Case {
	return []harness.Case{searchCase(), analysisCase()}
}
