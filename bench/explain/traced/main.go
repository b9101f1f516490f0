//go:build linux

// Command traced is a service, which may call others, or with -many 10,000 goroutines that serve each
// other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	_ "net/http/pprof"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/reqtrace/region"
)

func main() {
	many := flag.Bool("many", false, "run many goroutines")
	calls := flag.String("calls", "", "comma-separated `URLs` that each request gets first")
	ids := flag.Bool("ids", false, "mark requests and calls in the trace")
	flag.Parse()
	if *many {
		start()
	}
	var peers []string
	if *calls != "" {
		peers = strings.Split(*calls, ",")
	}
	var transport http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: 64}
	var mu sync.Mutex
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := http.Client{Transport: transport}
		for _, peer := range peers {
			if err := get(r.Context(), &client, peer); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, "done\n")
	})
	if *ids {
		transport, handler = region.Transport(transport), region.Middleware(handler)
	}
	http.Handle("/", handler)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("traced: ", err)
	}
	fmt.Println(ln.Addr())
	log.Fatal("traced: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

func get(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

// start starts goroutines, which take a lock twice per request and wait for a worker. With one lock
// a busy machine would make a queue of thousands, and no two traces would be alike.
func start() {
	var shards [64]shard
	jobs := make(chan chan int)
	for i := range 16 {
		go func() {
			for result := range jobs {
				result <- shards[i].count()
			}
		}()
	}
	for i := range 10_000 {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		go func() {
			for {
				time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
				shards[i%len(shards)].handle(jobs, r.IntN(100) == 0)
			}
		}()
	}
}

type shard struct {
	mu   sync.Mutex
	seen int
}

func (s *shard) handle(jobs chan<- chan int, sleeps bool) {
	reg := region.Start(context.Background(), "")
	defer reg.End()
	s.count()
	result := make(chan int, 1)
	jobs <- result
	<-result
	if sleeps {
		time.Sleep(time.Millisecond)
	}
	s.count()
}

func (s *shard) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	return s.seen
}
