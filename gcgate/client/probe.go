package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"evenkeel.dev/gcgate/internal/inband"
)

const (
	probeFrom    = 0.7 // of the announced time, which has a margin
	probeEvery   = 20 * time.Millisecond
	probeSeldom  = 100 * time.Millisecond // after an announcement above a second
	probeTimeout = time.Second
	probeLife    = 30 * time.Second
)

func (p *pool) leave(g *target, sent int64, d time.Duration, req *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() || sent < g.back.Load() {
		return
	}
	g.drained.Store(sent + int64(d))
	if g.stop != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), inband.MaxDrain+probeLife)
	g.stop = cancel
	host := hostOf(req)
	p.probes.Go(func() {
		defer p.comeBack(g)
		p.watch(ctx, g, host, sent+int64(probeFrom*float64(d)))
	})
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed.Store(true)
	for _, g := range p.targets {
		if g.stop != nil {
			g.stop()
		}
	}
	p.mu.Unlock()
	p.probes.Wait()
}

func (p *pool) comeBack(g *target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.stop()
	g.stop = nil
	g.back.Store(p.clock())
	g.drained.Store(0)
}

// watch probes g from time from on, until it is back or probeLife is over.
func (p *pool) watch(ctx context.Context, g *target, host string, from int64) {
	if !sleep(ctx, time.Duration(from-p.clock())) {
		return
	}
	giveUp := p.clock() + int64(probeLife)
	pause := probeEvery
	for {
		wait, err := p.probe(ctx, g, host)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && wait == 0:
			g.answered()
			return
		case err == nil:
			if pause = probeEvery; wait > time.Second {
				pause = probeSeldom
			}
			g.drained.Store(p.clock() + int64(wait))
		default:
			pause = min(2*pause, inband.MaxProbePause)
		}
		if p.clock()+int64(pause) > giveUp {
			if err != nil {
				g.fail(p.clock())
			}
			return
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *pool) probe(ctx context.Context, g *target, host string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.scheme+"://"+g.host+"/", nil)
	if err != nil {
		return 0, err
	}
	req.Host = host
	req.Header.Set(inband.HeaderProbe, "1")
	resp, err := g.base.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	g.heard.Store(p.clock())
	discard(resp.Body)
	d, drained := inband.ParseMillis(resp.Header, inband.HeaderDrain)
	switch {
	case drained:
		return d, nil
	case resp.StatusCode >= http.StatusInternalServerError:
		return 0, errors.New(resp.Status)
	case resp.StatusCode != http.StatusNoContent:
		// Something in front of the middleware answered, so the announced time decides.
		return max(0, time.Duration(g.drained.Load()-p.clock())), nil
	default:
		return 0, nil
	}
}

// discard reads a short body, so that its connection can be used again.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	body.Close()
}
