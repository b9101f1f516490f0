//go:build linux

package main

// static unsigned long digest(unsigned long seed, long n) {
// 	for (long i = 0; i < n; i++) seed = (seed ^ seed >> 29) * 0x9e3779b97f4a7c15;
// 	return seed;
// }
import "C"

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// darkroom develops photographs.
type darkroom struct{ jobs chan *photo }

type photo struct {
	size int
	sum  uint64
	done chan struct{}
}

func newDarkroom(*press) (http.Handler, error) {
	d := &darkroom{make(chan *photo)}
	go d.worker()
	go start.Every(700*time.Millisecond, d.poster)
	return d, nil
}

func (d *darkroom) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, d.develop(1000))
}

func (d *darkroom) develop(size int) uint64 {
	p := &photo{size: size, done: make(chan struct{})}
	d.jobs <- p
	<-p.done
	return p.sum
}

func (d *darkroom) poster() { d.develop(50_000_000) }

func (d *darkroom) worker() {
	for p := range d.jobs {
		p.expose()
		close(p.done)
	}
}

func (p *photo) expose() { p.sum = fold(3, p.size) }

// uploads are manuscripts.
type uploads struct{}

func newUploads(*press) (http.Handler, error) { return uploads{}, nil }

func (u uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := u.receive(r)
	if err != nil {
		start.Fail(w, err)
		return
	}
	fmt.Fprintln(w, n)
}

func (uploads) receive(r *http.Request) (int, error) {
	b, err := io.ReadAll(r.Body)
	return len(b), err
}

// payments go to the bank.
type payments struct{ *press }

func newPayments(p *press) (http.Handler, error) {
	p.client.Transport.(*http.Transport).DisableKeepAlives = true
	return &payments{p}, nil
}

func (p *payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("item") == "large" {
		if err := p.charge(); err != nil {
			start.Fail(w, err)
			return
		}
	}
	fmt.Fprintln(w, "paid")
}

func (p *payments) charge() error {
	_, err := p.get(p.Secure + "/charge")
	return err
}

// plates are what pages are printed with.
type plates struct {
	file *os.File
	pool sync.Pool
}

const plateSize = 128 << 20

func newPlates(p *press) (http.Handler, error) {
	f, err := os.Create(filepath.Join(p.Dir, "plates"))
	if err != nil {
		return nil, err
	}
	_, err = f.Write(make([]byte, plateSize))
	return &plates{file: f, pool: sync.Pool{New: func() any { return new([plateSize]byte) }}}, err
}

func (p *plates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("item") == "large" {
		if err := p.fetch(); err != nil {
			start.Fail(w, err)
			return
		}
	}
	fmt.Fprintln(w, "printed")
}

func (p *plates) fetch() error {
	b := p.pool.Get().(*[plateSize]byte)
	defer p.pool.Put(b)
	_, err := p.file.ReadAt(b[:], 0)
	return err
}

// converter packs manuscripts.
type converter struct{ file string }

func newConverter(p *press) (http.Handler, error) {
	b := make([]byte, 3<<20)
	for i := range b {
		b[i] = 'a' + byte(rand.IntN(20))
	}
	c := &converter{filepath.Join(p.Dir, "manuscript")}
	return c, os.WriteFile(c.file, b, 0o600)
}

func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("item") == "large" {
		if err := c.pack(); err != nil {
			start.Fail(w, err)
			return
		}
	}
	fmt.Fprintln(w, "packed")
}

func (c *converter) pack() error {
	return exec.Command("gzip", "-c", c.file).Run()
}

// seals are put on contracts.
type seals struct{}

func newSeals(*press) (http.Handler, error) { return seals{}, nil }

func (s seals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 1000
	if r.PathValue("item") == "large" {
		n = 40_000_000
	}
	fmt.Fprintln(w, s.stamp(n))
}

func (seals) stamp(n int) uint64 { return uint64(C.digest(11, C.long(n))) }
