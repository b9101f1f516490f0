package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// target is one replica. Times are in ns of pool.clock.
//
//	in service --announcement--> drained --probe says back, or 30 s--> in service
//	in service --dial fails, or timeouts--> left out --time is over: one request tries--> in service
type target struct {
	index  int
	scheme string
	host   string
	base   http.RoundTripper

	drained atomic.Int64 // until when; 0: in service
	back    atomic.Int64
	out     atomic.Int64 // until when; 0: in service
	fails   atomic.Uint32

	heard  atomic.Int64
	served atomic.Int64 // when the last answered request was sent

	stop    context.CancelFunc // nil: no watch runs; guarded by pool.mu
	silence silence
}

const (
	minOut = 100 * time.Millisecond
	maxOut = 2 * time.Second
)

func (g *target) aim(req *http.Request, body io.ReadCloser) *http.Request {
	out := req.WithContext(req.Context())
	u := new(url.URL)
	*u = *req.URL
	u.Scheme, u.Host = g.scheme, g.host
	out.URL = u
	out.Host = hostOf(req)
	out.Body = body
	return out
}

func hostOf(req *http.Request) string { return cmp.Or(req.Host, req.URL.Host) }

func (g *target) fail(now int64) {
	n := min(g.fails.Add(1)-1, 8)
	g.out.Store(now + int64(min(minOut<<n, maxOut)))
}

func (g *target) answered() {
	if g.out.Load() != 0 {
		g.out.Store(0)
		g.fails.Store(0)
	}
}

// tries lets one request try a target whose time is over.
func (g *target) tries(now int64) bool {
	until := g.out.Load()
	return until != 0 && now >= until && g.drained.Load() == 0 && g.out.CompareAndSwap(until, now+int64(maxOut))
}

func (g *target) serves() bool { return g.drained.Load() == 0 && g.out.Load() == 0 }

// pool is the targets of a Transport. Only what mu guards changes.
type pool struct {
	epoch   time.Time
	targets []*target
	next    atomic.Uint32

	mu     sync.Mutex // guards target.stop, silence, and leave against close
	closed atomic.Bool
	probes sync.WaitGroup
}

// clock is nanoseconds since the first request, never 0.
func (p *pool) clock() int64 { return int64(time.Since(p.epoch)) | 1 }

// pick returns the next target in service, in turn, or the one that is back soonest, or nil if all
// were tried. A request tries one that is left out only if it could be sent again, or if no such
// request came for maxOut.
func (p *pool) pick(tried []bool, again bool) *target {
	now, n := p.clock(), uint32(0)
	for i, g := range p.targets {
		if tried[i] {
			continue
		}
		if (again || now-g.out.Load() >= int64(maxOut)) && g.tries(now) {
			return g
		}
		if g.serves() {
			n++
		}
	}
	if n > 0 {
		k := p.next.Add(1) % n // no double share for the one after a gap
		for i, g := range p.targets {
			if tried[i] || !g.serves() {
				continue
			}
			if k == 0 {
				return g
			}
			k--
		}
	}
	return p.soonest(tried)
}

func (p *pool) soonest(tried []bool) *target {
	var best *target
	var bestOut, bestDrained int64
	for i, g := range p.targets {
		out, drained := g.out.Load(), g.drained.Load()
		if !tried[i] && (best == nil || out < bestOut || out == bestOut && drained < bestDrained) {
			best, bestOut, bestDrained = g, out, drained
		}
	}
	return best
}

const silentLimit = 3

// silence is what is known of timeouts. pool.mu guards it.
type silence struct {
	row  int   // without an answer in between
	from int64 // when the first was sent
	last int64
	left int64
}

// silent notes a timeout, and reports whether g is left out for it. If no other target answers, the
// handlers are slow, or the network is down.
func (p *pool) silent(g *target, sent int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	heard := g.heard.Load()
	if heard >= sent {
		return false
	}
	s, now := &g.silence, p.clock()
	if s.row == 0 || heard > s.last {
		s.row, s.from = 0, sent
	}
	s.row++
	s.last = now
	if s.row < silentLimit || g.out.Load() != 0 && sent < s.left || !p.answersBut(g, s.from) {
		return false
	}
	s.left = now
	g.fail(now)
	return true
}

func (p *pool) answersBut(g *target, from int64) bool {
	return slices.ContainsFunc(p.targets, func(other *target) bool {
		return other != g && other.served.Load() > from
	})
}

// isTimeout reports whether err is a timeout. A cancellation says nothing about the target.
func isTimeout(req *http.Request, err error) bool {
	if d, ok := req.Context().Deadline(); ok && time.Until(d) <= 0 {
		return true
	}
	// Not a net.Error, because an error of a RoundTripper may lack the deprecated Temporary.
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
