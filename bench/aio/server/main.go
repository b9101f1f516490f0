// Command server is every Go server of the aio benchmark, by -kind: an echo server as the
// documentation of its library recommends one, with one loop where the library has loops, and those
// of the parts accept and hostile. The first line that it prints is its address. SIGUSR1 gives memory
// back to the system, SIGWINCH prints the lateness of the goroutine of -sleeper since SIGUSR2, SIGTERM
// ends it.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/bench/aio/wire"
)

// config is what a server is told.
type config struct {
	addr    string
	buf     int // bytes of a connection's buffer; 0: the library's own, where it has one
	backend aio.Backend
	gaio    bool // aio: by gaio's API
	conns   int  // of the hostile kinds
	n       int  // operations of each of these, or of all of them
	order   string
}

// kinds are the servers. Each calls ready with its address once it listens, and then serves.
var kinds = map[string]func(c config, ready func(net.Addr)) error{
	"std": serveStd, "gaio": serveGaio, "gnet": serveGnet, "nbio": serveNbio, "netpoll": serveNetpoll, "aio": serveAio,
	"accept-raw": acceptRaw, "accept-std": acceptStd, "accept-gnet": acceptGnet, "accept-aio": acceptAio,
	"reads-gaio": readsGaio, "reads-aio": readsAio,
	"closed-aio": closedAio, "deadlines-aio": deadlinesAio, "queued-aio": queuedAio, "unread-aio": unreadAio,
}

func main() {
	log.SetFlags(0)
	var c config
	kind := flag.String("kind", "std", "one of "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	flag.StringVar(&c.addr, "addr", "127.0.0.1:0", "`address` to listen on")
	flag.IntVar(&c.buf, "buf", 4096, "`bytes` of a connection's own buffer (std, gaio, aio), or of a write (queued, unread); 0: the library's shared one (gaio, aio)")
	flag.TextVar(&c.backend, "backend", aio.BackendAuto, "of aio: auto, io_uring, epoll")
	flag.BoolVar(&c.gaio, "gaio", false, "of aio: by aio/gaio, which has gaio's API")
	sleeper := flag.Bool("sleeper", false, "run a goroutine that sleeps 5 ms in a loop, and say at SIGWINCH how late it woke since SIGUSR2")
	slow := flag.Duration("slowcalls", 0, "run goroutines that are in system calls of this `length`, which no signal interrupts, all the time")
	flag.IntVar(&c.conns, "conns", 100, "of deadlines, queued, unread: `connections` that they are about")
	flag.IntVar(&c.n, "n", 1000, "of deadlines, queued, unread: `operations` of each of these; of accept: connections that are counted")
	flag.StringVar(&c.order, "order", "up", "of deadlines: in which `order` they are submitted: up, random or down")
	flag.Parse()
	serve := kinds[*kind]
	if serve == nil {
		log.Fatalf("server: -kind %s is not known; it is one of %s", *kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if c.buf < 0 || c.buf == 0 && *kind == "std" {
		log.Fatalf("server: -buf %d: package net needs a buffer for each connection, name its bytes", c.buf)
	}
	if err := raiseFiles(); err != nil {
		log.Fatal("server: ", err)
	}
	var s *sleep
	if *sleeper {
		s = startSleep()
	}
	if *slow > 0 {
		slowCalls(*slow)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH) // before anybody knows the address
	go obey(signals, s)
	err := serve(c, func(a net.Addr) { fmt.Println(a) })
	log.Fatalf("server: %s: %v", *kind, err)
}

// raiseFiles raises the soft limit on open files to the hard one.
func raiseFiles() error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	r.Cur = r.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r)
}

// say prints values.
func say(values map[string]float64) {
	b, err := json.Marshal(values)
	if err != nil {
		log.Fatal("server: ", err)
	}
	fmt.Println(wire.Values + string(b))
}

// obey does what signals ask for.
func obey(signals <-chan os.Signal, s *sleep) {
	for sig := range signals {
		switch sig {
		case syscall.SIGTERM:
			os.Exit(0)
		case syscall.SIGUSR1:
			debug.FreeOSMemory() // twice: what a sync.Pool holds outlives one collection
			debug.FreeOSMemory()
			fmt.Println(wire.Settled)
		case syscall.SIGUSR2:
			s.reset()
		case syscall.SIGWINCH:
			s.report()
		}
	}
}

// listen listens on addr. An address that has just been given up can stay taken for a moment.
func listen(network, addr string) (ln net.Listener, err error) {
	err = retry(func() error {
		ln, err = net.Listen(network, addr)
		return err
	})
	return ln, err
}

// retry calls bind for a second, as long as the address is in use.
func retry(bind func() error) error {
	for end := time.Now().Add(time.Second); ; {
		err := bind()
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
