//go:build linux

package main

import (
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// watchdog keeps a picture of what all subscribers wait for.
type watchdog struct {
	picture []byte
	bytes   atomic.Int64
}

func newWatchdog(*press) (http.Handler, error) {
	w := &watchdog{picture: make([]byte, 16<<20)}
	for range 10_000 {
		go func() { <-make(chan bool) }()
	}
	go start.Every(700*time.Millisecond, w.look)
	return w, nil
}

func (w *watchdog) ServeHTTP(rw http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(rw, w.bytes.Load())
}

func (w *watchdog) look() { w.bytes.Store(int64(runtime.Stack(w.picture, true))) }

// frontDesk answers behind middleware that every service has: a counter and a limit of the body.
type frontDesk struct {
	*press
	calls atomic.Int64
}

func newFrontDesk(p *press) (http.Handler, error) {
	d := &frontDesk{press: p}
	return d.counted(d.limited(http.HandlerFunc(d.answer))), nil
}

func (d *frontDesk) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.calls.Add(1)
		next.ServeHTTP(w, r)
	})
}

func (d *frontDesk) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		next.ServeHTTP(w, r)
	})
}

func (d *frontDesk) answer(w http.ResponseWriter, r *http.Request) {
	url := d.Upstream + "/now"
	if r.PathValue("item") == "large" {
		url = d.Upstream + "/archive/now"
	}
	b, err := d.get(url)
	if err != nil {
		start.Fail(w, err)
		return
	}
	_, _ = w.Write(b)
}
