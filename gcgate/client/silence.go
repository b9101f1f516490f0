package client

import (
	"errors"
	"net/http"
	"time"
)

const silentLimit = 3

// silence is what is known of requests that a target has let time out. pool.mu guards it.
type silence struct {
	row  int   // in a row, without an answer in between
	from int64 // when the first of them was sent
	last int64 // when the last of them was over
	left int64 // when the target was last left out for them
}

// silent notes that a request to g timed out, and reports whether g is left out for that. g must
// have answered nothing since the first of silentLimit was sent, and another target a later
// request. Otherwise the handlers are slow, or the network is down.
func (p *pool) silent(g *target, sent int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	heard := g.heard.Load()
	if heard >= sent {
		return false // it has answered others since
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
	for _, other := range p.targets {
		if other != g && other.served.Load() > from {
			return true
		}
	}
	return false
}

// isTimeout reports whether err, of req, is a timeout. A cancellation says nothing about the
// target.
func isTimeout(req *http.Request, err error) bool {
	if d, ok := req.Context().Deadline(); ok && time.Until(d) <= 0 {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
