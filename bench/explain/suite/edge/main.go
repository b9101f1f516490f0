//go:build linux

// Command edge stands before other services: as a proxy, or to ask several and join what they say. The driver, one
// folder up, knows what each feature suffers from.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

func main() {
	env := start.Read("edge")
	base, err := url.Parse(env.Upstream)
	if err != nil {
		log.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	switch env.Feature {
	case "27":
		http.Handle("/edge/", newBalancer(base, transport))
	case "28":
		http.Handle("/edge/", &joiner{base: base.String(), client: http.Client{Transport: transport}})
	case "44":
		http.Handle("/edge/", &relay{base.String(), http.Client{Transport: transport}})
	default:
		env.None()
	}
	start.Serve(&http.Server{})
}

// balancer has thirty backends, which take turns.
type balancer struct {
	backends []*httputil.ReverseProxy
	turn     atomic.Uint64
}

func newBalancer(base *url.URL, transport http.RoundTripper) *balancer {
	b := &balancer{}
	for i := range 30 {
		to := *base
		to.Path = fmt.Sprintf("/shard/%d", i)
		b.backends = append(b.backends, &httputil.ReverseProxy{
			Transport: transport,
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&to) },
		})
	}
	return b
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.backends[b.turn.Add(1)%uint64(len(b.backends))].ServeHTTP(w, r)
}

// joiner asks four shards at once.
type joiner struct {
	base   string
	client http.Client
	turn   atomic.Uint64
}

func (j *joiner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := j.turn.Add(4)
	g, ctx := errgroup.WithContext(r.Context())
	var sum atomic.Int64
	for i := range uint64(4) {
		g.Go(func() error {
			n, err := j.part(ctx, (first+i)%120)
			sum.Add(n)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, sum.Load())
}

func (j *joiner) part(ctx context.Context, shard uint64) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/shard/%d", j.base, shard), http.NoBody)
	if err != nil {
		return 0, err
	}
	res, err := j.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return io.Copy(io.Discard, res.Body)
}
