//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// courier has a few vans.
type courier struct {
	*shop
	vans chan struct{}
}

func newCourier(s *shop) (http.Handler, error) {
	c := &courier{shop: s, vans: make(chan struct{}, 4)}
	go start.Every(500*time.Millisecond, c.depot)
	return c, nil
}

func (c *courier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, c.carry(r.PathValue("item")))
}

func (c *courier) carry(item string) int {
	c.vans <- struct{}{}
	defer func() { <-c.vans }()
	return len(item)
}

func (c *courier) depot() {
	for range cap(c.vans) {
		c.vans <- struct{}{}
	}
	_, _ = c.get("/archive/vans")
	for range cap(c.vans) {
		<-c.vans
	}
}

// reviews are read by a few at once, or brought in.
type reviews struct {
	desks *semaphore.Weighted
	texts [][]byte
}

func newReviews(*shop) (http.Handler, error) {
	v := &reviews{desks: semaphore.NewWeighted(8), texts: make([][]byte, 64)}
	go start.Every(500*time.Millisecond, v.bring)
	return v, nil
}

func (v *reviews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := v.read(r.Context(), len(r.PathValue("item")))
	if err != nil {
		start.Fail(w, err)
		return
	}
	fmt.Fprintln(w, n)
}

func (v *reviews) read(ctx context.Context, item int) (int, error) {
	if err := v.desks.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	defer v.desks.Release(1)
	return len(v.texts[item%len(v.texts)]), nil
}

func (v *reviews) bring() {
	if v.desks.Acquire(context.Background(), 8) != nil {
		return
	}
	for i := range v.texts {
		v.texts[i] = v.clean(i)
	}
	v.desks.Release(8)
}

func (v *reviews) clean(i int) []byte {
	text := make([]byte, 400<<10)
	for at := range text {
		text[at] = byte(at*i + at>>3)
	}
	return text
}

// rates are kept for a second.
type rates struct {
	*shop
	mu    sync.Mutex
	until time.Time
	table []byte
	group singleflight.Group
}

func newRates(s *shop) (http.Handler, error) { return &rates{shop: s}, nil }

func (x *rates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	table, err := x.today()
	if err != nil {
		start.Fail(w, err)
		return
	}
	fmt.Fprintln(w, len(table))
}

func (x *rates) today() ([]byte, error) {
	x.mu.Lock()
	table, until := x.table, x.until
	x.mu.Unlock()
	if time.Now().Before(until) {
		return table, nil
	}
	v, err, _ := x.group.Do("today", x.ask)
	if err != nil {
		return nil, err
	}
	return v.([]byte), nil
}

func (x *rates) ask() (any, error) {
	table, err := x.get("/archive/rates")
	x.mu.Lock()
	defer x.mu.Unlock()
	x.table, x.until = table, time.Now().Add(time.Second)
	return table, err
}

// mail goes out as fast as the provider allows.
type mail struct{ provider *rate.Limiter }

func newMail(*shop) (http.Handler, error) {
	m := &mail{provider: rate.NewLimiter(500, 25)}
	go start.Every(600*time.Millisecond, func() {
		m.provider.ReserveN(time.Now(), 25)
		m.provider.ReserveN(time.Now(), 25)
	})
	return m, nil
}

func (m *mail) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := m.send(r.Context()); err != nil {
		start.Fail(w, err)
	}
}

func (m *mail) send(ctx context.Context) error { return m.provider.Wait(ctx) }

// notices are delivered at the second attempt, at times.
type notices struct{}

func newNotices(*shop) (http.Handler, error) { return &notices{}, nil }

func (n *notices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, n.deliver(r.PathValue("item")))
}

func (n *notices) deliver(item string) int {
	attempts := 1
	if item == "large" {
		time.Sleep(60 * time.Millisecond)
		attempts++
	}
	return attempts
}

// labels are printed by two printers.
type labels struct{ jobs chan *label }

type label struct {
	item string
	done chan int
}

func newLabels(*shop) (http.Handler, error) {
	l := &labels{jobs: make(chan *label, 256)}
	for range 2 {
		go l.printer()
	}
	go start.Every(500*time.Millisecond, l.batch)
	return l, nil
}

func (l *labels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, l.print(r.PathValue("item")))
}

func (l *labels) print(item string) int {
	j := &label{item: item, done: make(chan int, 1)}
	l.jobs <- j
	return <-j.done
}

func (l *labels) printer() {
	for j := range l.jobs {
		time.Sleep(time.Millisecond)
		j.done <- len(j.item)
	}
}

func (l *labels) batch() {
	for range 100 {
		go l.print("bulk")
	}
}
