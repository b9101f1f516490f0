//go:build linux

// Command edge stands before other services: as a proxy, or to ask several and join what they say. The driver, one
// folder up, knows what each feature suffers from.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	_ "net/http/pprof"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	log.SetFlags(0)
	n := os.Getenv("FEATURE")
	upstream := os.Getenv("UPSTREAM")
	base, err := url.Parse(upstream)
	if err != nil {
		log.Fatal("edge: ", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	switch n {
	case "27":
		http.Handle("/edge/", newBalancer(base, transport))
	case "28":
		http.Handle("/edge/", &joiner{base: base.String(), client: http.Client{Transport: transport}})
	case "44":
		http.Handle("/edge/", &relay{base.String(), http.Client{Transport: transport}})
	default:
		log.Fatalf("edge: FEATURE=%s: there is none", n)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("edge: ", err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal("edge: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
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
