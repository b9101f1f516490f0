// Command gen writes the execution trace of a small HTTP service with a planted lock to standard
// output, for the recorded traces of reqtrace. It builds with every Go release since 1.22;
// testdata/gen.sh runs it.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/trace"
	"sync"
	"time"
)

const (
	connections = 2
	requests    = 150 // of each connection
	each        = 15  // of which one meets the lock while it is held
	held        = 12 * time.Millisecond
)

// cache is what the service answers from.
type cache struct {
	mu   sync.Mutex
	text string
}

func (c *cache) get() string {
	c.mu.Lock() // the planted place: the requests wait here
	defer c.mu.Unlock()
	return c.text
}

// refresh holds the lock for long, and closes locked when it has it.
func (c *cache) refresh(locked chan<- bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(locked)
	time.Sleep(held)
}

// ask sends requests over a connection of its own, one after the other.
func ask(c *cache, address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for i := 0; i < requests; i++ {
		if i%each == each-1 {
			locked := make(chan bool)
			go c.refresh(locked)
			<-locked
		}
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: gen\r\n\r\n"); err != nil {
			return err
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	log.SetFlags(0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("gen: ", err)
	}
	c := &cache{text: "hello"}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, c.get()) }))
	if err := trace.Start(os.Stdout); err != nil {
		log.Fatal("gen: ", err)
	}
	var done sync.WaitGroup
	for i := 0; i < connections; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			if err := ask(c, l.Addr().String()); err != nil {
				log.Fatal("gen: ", err)
			}
		}()
	}
	done.Wait()
	trace.Stop()
}
