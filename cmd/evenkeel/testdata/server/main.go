// Command server is a service that misbehaves as its flags say, for evenkeel to run.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	addr       = flag.String("addr", "127.0.0.1:0", "where to listen")
	pprof      = flag.Bool("pprof", false, "serve /debug/pprof/")
	status     = flag.Int("status", 200, "of the answers")
	alloc      = flag.Int("alloc", 0, "bytes to allocate a request")
	collect    = flag.Int64("collect", 0, "collect at each of the first so many requests")
	collectAt  = flag.Int("collect-at-start", 0, "collect so many times before listening")
	await      = flag.String("await", "", "`files` without which not to listen; each is asked for on standard error, one after the other")
	slow       = flag.Duration("slow", 0, "time of a request")
	spin       = flag.Int("spin", 0, "steps to compute per request, of some nanoseconds each")
	dieAtStart = flag.Bool("die-at-start", false, "exit with 3 before listening")
	dieAfter   = flag.Int64("die-after", 0, "exit with 4 at this request")
	neverReady = flag.Bool("never-ready", false, "do not listen")
	ignoreTerm = flag.Bool("ignore-term", false, "ignore SIGTERM")
	fork       = flag.Bool("fork", false, "start a process that outlives this one")
	pids       = flag.String("pids", "", "file for the ids of this process and of the one it started")
	sayAt      = flag.Int64("say-at", 0, "write a line to standard error at this request")
	say        = flag.Int("say", 0, "lines to write to standard error at the start")
)

var sink atomic.Pointer[[][]byte]

func main() {
	flag.Parse()
	ids := fmt.Sprintln(os.Getpid())
	if *fork {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			log.Fatal(err)
		}
		ids += fmt.Sprintln(cmd.Process.Pid)
	}
	if *pids != "" {
		if err := os.WriteFile(*pids, []byte(ids), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	for i := range *say {
		fmt.Fprintf(os.Stderr, "server says %d\n", i+1)
	}
	if *dieAtStart {
		fmt.Fprintln(os.Stderr, "fatal: the database is gone")
		os.Exit(3)
	}
	if *ignoreTerm {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		go func() {
			for range c {
				fmt.Fprintln(os.Stderr, "server says no to SIGTERM")
			}
		}()
	}
	for range *collectAt {
		runtime.GC()
	}
	for name := range strings.SplitSeq(*await, ",") {
		if name != "" {
			awaitFile(name)
		}
	}
	if *neverReady {
		time.Sleep(time.Hour)
	}
	log.Fatal(http.ListenAndServe(*addr, http.HandlerFunc(serve)))
}

func awaitFile(name string) {
	fmt.Fprintln(os.Stderr, "server says it waits for", name)
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

var requests atomic.Int64

func serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/debug/") {
		if *pprof {
			http.DefaultServeMux.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
		return
	}
	if r.URL.Path == "/ready" { // not counted
		return
	}
	n := requests.Add(1)
	if *dieAfter > 0 && n >= *dieAfter {
		fmt.Fprintln(os.Stderr, "fatal: out of coffee")
		os.Exit(4)
	}
	if n == *sayAt {
		fmt.Fprintf(os.Stderr, "server says request %d\n", n)
	}
	if n <= *collect {
		runtime.GC()
	}
	if *alloc > 0 {
		waste(*alloc)
	}
	compute(*spin)
	time.Sleep(*slow)
	w.WriteHeader(*status)
	fmt.Fprintln(w, "hello")
}

var computed atomic.Uint64

// compute takes a number of steps, however long they last.
//
//go:noinline
func compute(steps int) {
	x := uint64(1)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
	}
	computed.Store(x)
}

// waste allocates n bytes, most of them at one line.
//
//go:noinline
func waste(n int) {
	const piece = 1 << 10
	keep := make([][]byte, 0, n/piece)
	for range n / piece {
		keep = append(keep, make([]byte, piece))
	}
	sink.Store(&keep) // so that it is on the heap
}
