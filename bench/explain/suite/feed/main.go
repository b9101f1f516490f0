//go:build linux

// Command feed is a news service over HTTP/2 without TLS, one of its features at a time, served by the standard library
// or by x/net/http2. The driver, one folder up, knows what each of them suffers from.
package main

//lint:file-ignore SA1019 x/net's server is deprecated, and in many programs

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

func main() {
	env := start.Read("feed")
	srv := &http.Server{Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	srv.Handler = mux
	switch env.Feature {
	case "22":
		mux.Handle("GET /feed/{topic}", newTopics(env.Upstream))
	case "23":
		srv.Protocols, srv.Handler = nil, h2c.NewHandler(mux, &http2.Server{})
		mux.Handle("GET /feed/{topic}", newBoard())
	case "45":
		mux.Handle("GET /feed/{topic}", &headlines{seen: map[string]int{}})
	case "49":
		mux.Handle("GET /feed/{topic}", newAgencies(env.Names))
	case "58":
		mux.Handle("GET /feed/{topic}", newGallery())
	default:
		env.None()
	}
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	start.Serve(srv)
}

// topics come from the editors' service.
type topics struct {
	editors string
	mu      sync.RWMutex
	list    []byte
}

func newTopics(upstream string) *topics {
	t := &topics{editors: upstream + "/archive/topics"}
	go start.Every(500*time.Millisecond, t.update)
	return t
}

func (t *topics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, t.about(r.PathValue("topic")))
}

func (t *topics) about(topic string) int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(topic) + len(t.list)
}

func (t *topics) update() {
	t.mu.Lock()
	defer t.mu.Unlock()
	res, err := http.Get(t.editors)
	if err != nil {
		return
	}
	defer res.Body.Close()
	t.list, _ = io.ReadAll(res.Body)
}

// board belongs to one goroutine, which is asked.
type board struct {
	questions chan *question
	notes     []uint32
}

type question struct {
	topic  string
	answer chan int
}

func newBoard() *board {
	b := &board{questions: make(chan *question), notes: make([]uint32, 600_000)}
	go b.own()
	return b
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, b.ask(r.PathValue("topic")))
}

func (b *board) ask(topic string) int {
	q := &question{topic, make(chan int, 1)}
	b.questions <- q
	return <-q.answer
}

func (b *board) own() {
	tidy := time.Tick(500 * time.Millisecond)
	for {
		select {
		case q := <-b.questions:
			q.answer <- len(q.topic)
		case <-tidy:
			b.arrange()
		}
	}
}

func (b *board) arrange() {
	x := uint32(time.Now().UnixNano()) | 1
	for i := range b.notes {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b.notes[i] = x
	}
	slices.Sort(b.notes)
}
