//go:build linux

// Command server is each Go server of package aio's cases. It uses a library (-way) as its
// documentation recommends, with one loop. It prints its address, and in some cases values by
// figure in JSON. SIGUSR1 gives memory back to the system.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

type config struct {
	buf     int // of a connection; 0: the library's shared one
	backend aio.Backend
	count   int
}

// serve calls ready with its address when it listens.
type serve func(c config, ready func(net.Addr)) error

var echoes = map[string]serve{
	"net": serveNet, "gaio": serveGaio, "gnet": serveGnet, "nbio": serveNbio,
	"aio": serveAio, "aio/gaio": serveOverAio,
}

var others = map[string]serve{
	"accept by accept4": acceptRaw, "accept by aio": acceptAio,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("server: ")
	var c config
	way := flag.String("way", "net", "accept4 or one of "+strings.Join(slices.Sorted(maps.Keys(echoes)), ", "))
	do := flag.String("do", "echo", "echo or accept")
	flag.TextVar(&c.backend, "backend", aio.BackendAuto, "of aio: auto, io_uring, epoll")
	flag.IntVar(&c.buf, "buf", 4096, "`bytes` of a connection's buffer; 0: the library's shared one (gaio, aio)")
	flag.IntVar(&c.count, "count", 1000, "of accept: `connections` that are counted")
	sleeper := flag.Bool("sleeper", false, "run a goroutine that sleeps, and say on SIGUSR2 how late it woke")
	slow := flag.Duration("slowcalls", 0, "run goroutines that are in uninterruptible system calls of this `length`")
	flag.Parse()
	var s *sleep
	if *sleeper {
		s = startSleep()
	}
	if *slow > 0 {
		slowCalls(*slow)
	}
	machine.Obey(s.report)
	serve := others[*do+" by "+*way]
	if *do == "echo" {
		serve = echoes[*way]
	}
	if serve == nil {
		log.Fatalf("there is no -way %s that can -do %s", *way, *do)
	}
	err := serve(c, func(a net.Addr) { fmt.Println(a) })
	log.Fatalf("%s by %s: %v", *do, *way, err)
}

func say(values map[string]float64) {
	if err := json.NewEncoder(os.Stdout).Encode(values); err != nil {
		log.Fatal(err)
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

type pool struct {
	config
	free [][]byte
}

// answer copies data from the library's buffer, because the write may end after the next WaitIO.
func (p *pool) answer(data []byte) []byte {
	if p.buf > 0 {
		return data
	}
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return append(b[:0], data...)
	}
	return append(make([]byte, 0, max(1024, len(data))), data...)
}

func (p *pool) next(answer []byte) []byte {
	if p.buf > 0 {
		return answer[:cap(answer)]
	}
	p.free = append(p.free, answer)
	return nil
}

func (c config) own() []byte {
	if c.buf == 0 {
		return nil
	}
	return make([]byte, c.buf)
}

// sleep is a goroutine that wakes late because of the server's loop.
type sleep struct {
	mu   sync.Mutex
	late [200]time.Duration // guarded by mu
	n    int                // guarded by mu
}

func startSleep() *sleep {
	s := &sleep{}
	go func() {
		const nap = 5 * time.Millisecond
		for {
			start := time.Now()
			time.Sleep(nap)
			late := time.Since(start) - nap
			s.mu.Lock()
			s.late[s.n%len(s.late)] = late
			s.n++
			s.mu.Unlock()
		}
	}()
	return s
}

// report prints how late it woke in the last second.
func (s *sleep) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var h loadgen.Histogram
	for _, late := range s.late[:min(s.n, len(s.late))] {
		h.Record(late)
	}
	say(map[string]float64{"late, mean": milliseconds(h.Mean()), "late, p99": milliseconds(h.Quantile(.99))})
}
