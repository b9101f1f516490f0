//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"net"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/image/draw"
)

// headlines are counted by topic.
type headlines struct {
	mu   sync.Mutex
	seen map[string]int
}

func (h *headlines) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.seen[r.PathValue("topic")]++
	n := h.seen[r.PathValue("topic")]
	h.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]int{"seen": n})
}

// agencies are found by their names.
type agencies struct{ book net.Resolver }

func newAgencies(names string) *agencies {
	return &agencies{net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", names)
	}}}
}

func (a *agencies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	topic := r.PathValue("topic")
	if topic != "large" {
		fmt.Fprintln(w, topic)
		return
	}
	where, err := a.locate(r.Context(), topic)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, strings.Join(where, " "))
}

func (a *agencies) locate(ctx context.Context, name string) ([]string, error) {
	return a.book.LookupHost(ctx, name+".agency.test.")
}

// gallery shows pictures, small ones and large ones.
type gallery struct{ picture *image.RGBA }

func newGallery() *gallery {
	g := &gallery{image.NewRGBA(image.Rect(0, 0, 1200, 800))}
	for i := range g.picture.Pix {
		g.picture.Pix[i] = byte(i * i >> 7)
	}
	return g
}

func (g *gallery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size := 8
	if r.PathValue("topic") == "large" {
		size = 500
	}
	_ = jpeg.Encode(w, g.scale(size), nil)
}

// scale returns a piece of the picture at another size.
func (g *gallery) scale(size int) image.Image {
	to := image.NewRGBA(image.Rect(0, 0, size, size))
	draw.CatmullRom.Scale(to, to.Bounds(), g.picture, image.Rect(0, 0, size*2, size*3/2), draw.Src, nil)
	return to
}
