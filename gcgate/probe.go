package gcgate

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// The bounds of watch.
const (
	probeEvery    = 20 * time.Millisecond  // pause between two probes of a target that is away
	maxStillAway  = 100 * time.Millisecond // pause when it says that it takes longer
	maxProbePause = 500 * time.Millisecond // pause after errors, doubling from probeEvery
	probeTimeout  = time.Second            // of one probe
	probeLife     = 30 * time.Second       // from the first probe to giving up
)

// leave takes g out of service for d from time sent, after an answer to req said so.
func (t *Transport) leave(g *target, sent int64, d time.Duration, req *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() || sent < g.back.Load() { // that absence is over
		return
	}
	g.away.Store(sent + int64(d))
	if g.stop != nil {
		return // its watch sees the new time
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxAway+probeLife)
	g.stop = cancel
	host := hostOf(req) // the gate's middleware answers for it
	t.probes.Go(func() {
		defer t.comeBack(g)
		t.watch(ctx, g, host)
	})
}

// comeBack puts g back into service.
func (t *Transport) comeBack(g *target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.stop()
	g.stop = nil
	g.back.Store(t.clock())
	g.away.Store(0)
}

// watch waits until g said to be back, then probes it until it is. It gives up at ctx's end, or
// probeLife after the first probe: then the next request finds out.
func (t *Transport) watch(ctx context.Context, g *target, host string) {
	for {
		wait := time.Duration(g.away.Load() - t.clock())
		if wait <= 0 {
			break
		}
		if !sleep(ctx, wait) {
			return
		}
	}
	giveUp := t.clock() + int64(probeLife)
	pause := probeEvery
	for {
		wait, err := t.probe(ctx, g, host)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && wait == 0:
			g.answered()
			return
		case err == nil:
			pause = min(max(wait, probeEvery), maxStillAway)
			g.away.Store(t.clock() + int64(wait))
		default:
			pause = min(2*pause, maxProbePause)
		}
		if t.clock()+int64(pause) > giveUp {
			if err != nil {
				g.fail(t.clock())
			}
			return
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// sleep waits for d; it returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// probe asks g whether it is back: 0 when it is, else how long it takes yet.
func (t *Transport) probe(ctx context.Context, g *target, host string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.scheme+"://"+g.host+"/", nil)
	if err != nil {
		return 0, err
	}
	req.Host = host
	req.Header.Set(headerProbe, "1")
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	discard(resp.Body)
	d, away := parseMillis(resp.Header, headerDrain)
	switch {
	case away:
		return d, nil
	case resp.StatusCode >= http.StatusInternalServerError:
		return 0, errors.New(resp.Status)
	default: // what is no 204 is from in front of the middleware: then the estimate has to do
		return 0, nil
	}
}
