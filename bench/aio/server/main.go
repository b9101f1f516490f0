//go:build linux

// Command server is every Go server of package aio's cases: by -way a library, used as its
// documentation recommends with one loop if it has loops, and by -do what it does. The first line
// that it prints is its address. Some print values after that, as a line of JSON, by the names of
// the bench's figures. SIGUSR1 gives memory back to the system, and SIGTERM ends the server.
package main

import (
	"encoding/binary"
	"encoding/json"
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
)

// config is what a server is told.
type config struct {
	buf     int  // bytes of a connection's own buffer; 0: the library's shared one, if it has one
	size    int  // bytes of a write of closed, queued, unread
	sizes   bool // answer each read with its size
	backend aio.Backend
	conns   int // of the hostile ones
	count   int // operations of each of these, or connections that are counted
	order   string
}

// serve calls ready with its address once it listens, and then serves.
type serve func(c config, ready func(net.Addr)) error

// echoes are the echo servers by their ways.
var echoes = map[string]serve{
	"net": serveNet, "gaio": serveGaio, "gnet": serveGnet, "nbio": serveNbio,
	"aio": serveAio, "aio/gaio": serveOverAio,
}

// others are the servers that do something else, by what they do and their ways.
var others = map[string]serve{
	"accept by accept4": acceptRaw, "accept by aio": acceptAio,
	"closed by aio": closedAio, "deadlines by aio": deadlinesAio, "queued by aio": queuedAio, "unread by aio": unreadAio,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("server: ")
	var c config
	way := flag.String("way", "net", "accept4 or one of "+strings.Join(slices.Sorted(maps.Keys(echoes)), ", "))
	do := flag.String("do", "echo", "echo, reads, accept, closed, deadlines, queued or unread")
	flag.TextVar(&c.backend, "backend", aio.BackendAuto, "of aio: auto, io_uring, epoll")
	flag.IntVar(&c.buf, "buf", 4096, "`bytes` of a connection's buffer; 0: the library's shared one (gaio, aio)")
	flag.IntVar(&c.size, "size", 100, "of closed, queued, unread: `bytes` of a write")
	flag.IntVar(&c.conns, "conns", 100, "of deadlines, queued, unread: `connections` that they are about")
	flag.IntVar(&c.count, "count", 1000, "`operations` of each of these; of accept: connections that are counted")
	flag.StringVar(&c.order, "order", "up", "of deadlines: in which `order` they are submitted: up, random or down")
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
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	go obey(signals, s)
	c.sizes = *do == "reads"
	serve := others[*do+" by "+*way]
	if *do == "echo" || c.sizes {
		serve = echoes[*way]
	}
	if serve == nil {
		log.Fatalf("there is no -way %s that can -do %s", *way, *do)
	}
	err := serve(c, func(a net.Addr) { fmt.Println(a) })
	log.Fatalf("%s by %s: %v", *do, *way, err)
}

// say prints values.
func say(values map[string]float64) {
	if err := json.NewEncoder(os.Stdout).Encode(values); err != nil {
		log.Fatal(err)
	}
}

// obey does what signals ask for.
func obey(signals <-chan os.Signal, s *sleep) {
	for sig := range signals {
		switch sig {
		case syscall.SIGTERM:
			os.Exit(0)
		case syscall.SIGUSR1:
			debug.FreeOSMemory() // twice, because what a sync.Pool holds outlives one collection
			debug.FreeOSMemory()
			fmt.Println("settled")
		case syscall.SIGUSR2:
			s.report()
		}
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// pool makes answers, and keeps the buffers of those that are written, the one used last on top.
type pool struct {
	config
	free [][]byte
}

// answer returns what the server sends back. A read into the connection's own buffer is written
// from there. One into the library's buffer is copied, because the write may end after the next
// WaitIO.
func (p *pool) answer(data []byte) []byte {
	switch {
	case p.sizes:
		data = binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
	case p.buf > 0:
		return data
	}
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return append(b[:0], data...)
	}
	return append(make([]byte, 0, max(1024, len(data))), data...)
}

// next returns the buffer of the read after the write of an answer.
func (p *pool) next(answer []byte) []byte {
	if p.buf > 0 {
		return answer[:cap(answer)]
	}
	p.free = append(p.free, answer)
	return nil
}

// own returns a connection's first buffer, nil for the library's shared one.
func (c config) own() []byte {
	if c.buf == 0 {
		return nil
	}
	return make([]byte, c.buf)
}
