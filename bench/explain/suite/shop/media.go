//go:build linux

package main

// static unsigned resample(unsigned rows) {
//	volatile unsigned pixel = 1;
//	for (unsigned y = 0; y < rows; y++)
//		for (unsigned x = 0; x < 4096; x++)
//			pixel = pixel * 1664525u + x;
//	return pixel;
// }
import "C"

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// pictures are drawn in C.
type pictures struct{}

func newPictures(*shop) (http.Handler, error) { return &pictures{}, nil }

func (p *pictures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rows := 16
	if r.PathValue("item") == "large" {
		rows = 8192
	}
	fmt.Fprintln(w, p.thumb(rows))
}

func (p *pictures) thumb(rows int) uint32 { return uint32(C.resample(C.uint(rows))) }

// drafts are kept in files.
type drafts struct {
	*shop
	text []byte
}

func newDrafts(s *shop) (http.Handler, error) {
	return &drafts{shop: s, text: make([]byte, 16<<20)}, nil
}

func (d *drafts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("item") == "large" {
		if err := d.save(); err != nil {
			start.Fail(w, err)
		}
	}
}

func (d *drafts) save() error {
	f, err := os.CreateTemp(d.Dir, "draft-")
	if err != nil {
		return err
	}
	defer os.Remove(filepath.Join(d.Dir, filepath.Base(f.Name())))
	defer f.Close()
	if _, err := f.Write(d.text); err != nil {
		return err
	}
	return f.Sync()
}

// shipping finds the carrier's host.
type shipping struct{ resolver net.Resolver }

func newShipping(s *shop) (http.Handler, error) {
	return &shipping{net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Names)
	}}}, nil
}

func (s *shipping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("item") != "large" {
		return
	}
	host, err := s.carrier(r.Context())
	if err != nil {
		start.Fail(w, err)
		return
	}
	fmt.Fprintln(w, host)
}

func (s *shipping) carrier(ctx context.Context) (string, error) {
	hosts, err := s.resolver.LookupHost(ctx, fmt.Sprintf("c%d.example.", time.Now().UnixNano()))
	if err != nil {
		return "", err
	}
	return hosts[0], nil
}

// basket adds up.
type basket struct{}

func newBasket(*shop) (http.Handler, error) { return &basket{}, nil }

func (b *basket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sum := uint32(1)
	for i := range uint32(200_000) {
		sum = sum*1664525 + i
	}
	fmt.Fprintln(w, r.PathValue("item"), sum)
}

// offers are read slowly.
type offers struct{}

func newOffers(*shop) (http.Handler, error) { return &offers{}, nil }

func (o *offers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(20 * time.Millisecond)
	fmt.Fprintln(w, r.PathValue("item"))
}
