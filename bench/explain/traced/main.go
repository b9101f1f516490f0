//go:build linux

// Command traced is a service, or with -many 10,000 goroutines that serve each other.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	_ "net/http/pprof"
	"sync"
	"time"

	"evenkeel.dev/reqtrace/region"
)

func main() {
	many := flag.Bool("many", false, "run many goroutines")
	flag.Parse()
	if *many {
		start()
	}
	var mu sync.Mutex
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, "done\n")
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("traced: ", err)
	}
	fmt.Println(ln.Addr())
	log.Fatal("traced: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
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
