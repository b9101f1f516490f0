package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
)

// searchTarget is a request to the search service.
func searchTarget(url string) []loadgen.Target {
	return []loadgen.Target{{Method: http.MethodPost, URL: url + "/search?term=president&cnn=on&bbc=on&nyt=on"}}
}

// search looks at the study's search service, which nobody marked requests in: are they all found,
// and is its lock found that is held during a refresh?
func (d *driver) search(ctx context.Context) error {
	if d.only != 0 {
		return nil
	}
	var found []float64
	for range d.rounds {
		x, err := d.found(ctx, 300)
		if err != nil {
			return err
		}
		found = append(found, x)
	}
	d.set.Raw[foundKey] = found
	d.foundFigure(found)

	feeds, stop, err := serveFeeds()
	if err != nil {
		return err
	}
	defer stop()
	for _, refresh := range refreshes {
		var raw []*sample
		for range d.rounds {
			s, err := d.refresh(ctx, refresh, feeds, 200)
			if err != nil {
				return err
			}
			raw = append(raw, s)
		}
		d.set.Raw[refreshKey+refresh] = raw
		d.refreshFigure(refresh, raw)
	}
	return nil
}

const (
	foundKey   = "search, found %"
	refreshKey = "search, refresh "
)

var refreshes = []string{"locked", "free"}

func (d *driver) foundFigure(found []float64) {
	d.set.AtLeast("search, not marked: of the client's requests, found", found, 99, " %")
}

// refreshFigure says whether the lock is named in the runs of a way to refresh.
func (d *driver) refreshFigure(refresh string, raw []*sample) {
	var lock, median, tail []float64
	var all []shares
	for _, s := range raw {
		lock = append(lock, 100*s.Shares["lock"])
		all = append(all, s.Shares)
		median, tail = append(median, s.Server.Median), append(tail, s.Server.Tail)
	}
	m := mean(all)
	first := append(m.order(), "nothing")[0]
	fmt.Fprintf(d.out, "search, refresh %s: median %.2f ms, p99+ %.2f ms: %v\n", refresh, 1e3*figure.Median(median), 1e3*figure.Median(tail), m)
	if refresh == "locked" {
		d.set.Add("search, lock held while it refreshes: lock named first", lock, " %", "first", first == "lock")
	} else {
		d.set.Add("search, not held: lock not named first", lock, " %", "not first", first != "lock")
	}
}

// found returns how many of the client's requests, in percent, are in a trace that began before
// the first and ended after the last.
func (d *driver) found(ctx context.Context, rate float64) (float64, error) {
	c, err := start(ctx, nil, filepath.Join(d.bin, "search"), "-addr=127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer c.end()
	// The first answer waits for the feeds, which the service asks itself for.
	if _, err := loadgen.Run(ctx, loadgen.Options{Targets: searchTarget(c.url), Requests: 1, Connections: 1, Timeout: timeout}); err != nil {
		return 0, err
	}
	for more := 2 * time.Second; more < 2*time.Minute; more *= 2 {
		r, trace, err := d.tracedLoad(ctx, c, rate, d.length+more)
		if err != nil {
			return 0, err
		}
		if trace == nil {
			continue
		}
		var s sample
		if err := s.analyze(ctx, trace); err != nil {
			return 0, err
		}
		if d.verbose {
			fmt.Fprintf(d.out, "  %d requests answered, %d in the trace, %d cut off\n", r.Answered, s.Requests, s.Cut)
		}
		return 100 * float64(s.Requests) / float64(r.Answered), nil
	}
	return 0, errors.New("search: no trace was longer than the load")
}

// tracedLoad puts load on the search service while it is traced, and returns no trace if that
// was over before the load was, or so soon after that it cannot be told.
func (d *driver) tracedLoad(ctx context.Context, c *running, rate float64, length time.Duration) (*loadgen.Result, []byte, error) {
	res, err := begin(ctx, c.url, length)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	type taken struct {
		trace []byte
		at    time.Time
		err   error
	}
	done := make(chan taken, 1)
	go func() {
		b, err := io.ReadAll(res.Body)
		done <- taken{b, time.Now(), err}
	}()
	r, err := loadgen.Run(ctx, loadgen.Options{Targets: searchTarget(c.url), Rate: rate, Duration: d.length, Timeout: timeout})
	over := time.Now()
	t := <-done
	switch {
	case err != nil:
		return nil, nil, err
	case t.err != nil:
		return nil, nil, t.err
	case r.Failed > 0:
		return nil, nil, fmt.Errorf("search: %d requests failed: %v", r.Failed, r.Failures)
	case t.at.Sub(over) < edge:
		return nil, nil, nil
	}
	return r, t.trace, nil
}

// refresh measures the search service while its feeds are fetched every 2 s, by whoever finds
// them too old: its own wait is for the feed. At 200 requests/s the slowest hundredth are four
// for each time, most of them those behind it; and the load is so light that these are computed in
// a fraction of their wait.
func (d *driver) refresh(ctx context.Context, how, feeds string, rate float64) (*sample, error) {
	c, err := start(ctx, nil, filepath.Join(d.bin, "search"), "-addr=127.0.0.1:0", "-alloc=lean", "-ttl=2s", "-refresh="+how, "-feeds="+feeds)
	if err != nil {
		return nil, err
	}
	defer c.end()
	return d.measure(ctx, c, load{rate: rate, length: d.length, warmup: time.Second, targets: searchTarget(c.url)}, "search-"+how)
}

// serveFeeds serves feeds that take 100 ms, as real ones may, and returns where.
func serveFeeds() (feeds string, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	item := "<item><title>A president speaks</title><description>" + strings.Repeat("Of ships and the president's keel. ", 40) + "</description><link>http://a.example/</link></item>"
	doc := []byte(`<rss version="2.0"><channel><title>News</title>` + strings.Repeat(item, 30) + "</channel></rss>")
	srv := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		_, _ = w.Write(doc)
	})}
	go func() { _ = srv.Serve(ln) }()
	at := "http://" + ln.Addr().String() + "/"
	return "cnn=" + at + "cnn,bbc=" + at + "bbc,nyt=" + at + "nyt", func() { srv.Close() }, nil
}
