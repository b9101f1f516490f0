//go:build unix

// Command plant is a service whose slow requests have one known cause: a plant, chosen by its
// number. With -without the cause is gone and all else is the same.
//
//	1  requests that allocate pointers fast beside a large live heap: mark assists
//	2  collections while another goroutine copies 400 MB in one memmove: the world stands still
//	3  a lock that is held while what it guards is read anew
//	4  goroutines that compute in bursts
//	5  flock(2) on a file that is locked now and then
//	6  a service behind it, in a process of its own, that is slow now and then
//	7  a pool with too few workers for bursts of jobs
//	8  nothing, and no collector
//
// A request is GET /?cpu=100us&sleep=1ms&slow=1: its own computing and waiting, and whether the
// plant may delay it. plant prints its address, and ends with its standard input. With -write it
// does not serve, and traces itself.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"evenkeel.dev/reqtrace/region"
)

// strength is how many times as long a plant takes.
var strength float64

// stronger returns how long a plant takes what takes d at its usual strength.
func stronger(d time.Duration) time.Duration { return time.Duration(strength * float64(d)) }

// plant is a cause. The server is single: what it holds lives as long as the process.
type plant struct {
	prepare func(without bool) error // before the first request
	serve   func(slow bool) error    // in each request; nil: nothing
}

func main() {
	log.SetFlags(0)
	number := flag.Int("plant", 8, "`number` of the plant, 1 to 8")
	without := flag.Bool("without", false, "leave the plant out")
	bare := flag.Bool("bare", false, "do not mark requests")
	flag.Float64Var(&strength, "strength", 1, "how many times as long plants 3 to 7 take")
	behind := flag.Bool("behind", false, "be the service behind another")
	write := flag.String("write", "", "`file` for a trace of many goroutines, instead of serving")
	goroutines := flag.Int("goroutines", 10_000, "goroutines of that trace")
	size := flag.Int64("bytes", 10_000_000, "bytes of that trace")
	flag.Parse()
	if *write != "" {
		if err := writeMany(*write, *goroutines, *size); err != nil {
			log.Fatal("plant: ", err)
		}
		return
	}
	go func() { // the end of whoever started it
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if *behind {
		log.Fatal(listen(http.HandlerFunc(answer)))
	}
	p, ok := plants[*number]
	if !ok {
		log.Fatalf("plant: -plant %d: it is one of 1 to %d", *number, len(plants))
	}
	if err := p.prepare(*without); err != nil {
		log.Fatal("plant: ", err)
	}
	var h http.Handler = http.HandlerFunc(p.handle)
	if !*bare {
		h = region.Middleware(h)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", h)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	log.Fatal("plant: ", listen(mux))
}

// listen serves on a free port, which it prints.
func listen(h http.Handler) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + ln.Addr().String())
	return (&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(ln)
}

// page is the answer to everything.
var page = bytes.Repeat([]byte("All quiet. "), 20)

// handle does what a request asks for, and then what the plant is.
func (p *plant) handle(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	cpu, err := time.ParseDuration(q.Get("cpu"))
	if err == nil {
		compute(cpu)
		cpu, err = time.ParseDuration(q.Get("sleep"))
	}
	if err != nil {
		http.Error(w, "say cpu= and sleep=, as in 1ms: "+err.Error(), http.StatusBadRequest)
		return
	}
	if cpu > 0 {
		time.Sleep(cpu)
	}
	if p.serve != nil {
		if err := p.serve(q.Get("slow") == "1"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	_, _ = w.Write(page)
}

// compute keeps a processor busy for about d. It does the same however often it is interrupted.
func compute(d time.Duration) {
	x := uint64(d) | 1
	for range int64(min(d, time.Second)) / 2 { // some 2 ns a round
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 {
		panic("xorshift has no zero")
	}
}
