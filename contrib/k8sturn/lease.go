package k8sturn

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	retryPause    = 250 * time.Millisecond // after a request that failed
	settleMax     = 2 * time.Second
	settleTimeout = 5 * time.Second
	renewDivisor  = 3
)

// A lease is a turn that is held.
type lease struct {
	turns *Turns
	name  string
	stop  context.CancelFunc
	lost  chan struct{}
	over  bool // released or lost; guarded by turns.mu

	mu      sync.Mutex
	version string // of the last write; guarded by mu
}

func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release implements gcgate.Lease. After an error the slot is freed in the background, or after
// Options.Duration.
func (l *lease) Release(ctx context.Context) error {
	t := l.turns
	t.mu.Lock()
	over := l.over
	l.over = true
	t.mu.Unlock()
	if over {
		return nil
	}
	l.stop()
	l.mu.Lock() // waits for a renewal
	version := l.version
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, t.options.Duration)
	defer cancel()
	_, err := t.api.patch(ctx, l.name, version, spec{})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = nil // only now, or this process may have taken the slot again
	switch {
	case err == nil, isCode(err, http.StatusNotFound):
		return nil
	case isCode(err, http.StatusConflict): // changed, and perhaps still ours
		t.leaveLocked(l.name)
		return nil
	}
	t.leaveLocked(l.name)
	return fmt.Errorf("lease %s not released yet, which goes on in the background: %w", l.name, t.explain(err))
}

// lose closes lost, unless the turn was released.
func (l *lease) lose(why error) {
	l.stop()
	l.turns.mu.Lock()
	over := l.over
	if !over {
		l.over, l.turns.held = true, nil
	}
	l.turns.mu.Unlock()
	if over {
		return
	}
	if why != errClosed {
		l.turns.log().Warn("k8sturn: turn lost, another replica may collect at the same time",
			"lease", l.name, "reason", why)
	}
	close(l.lost)
}

// keep renews the Lease. The duration runs from asked, when the request was sent.
func (l *lease) keep(ctx context.Context, asked time.Time) {
	defer l.stop()
	duration := l.turns.options.Duration
	pause := duration / renewDivisor
	for {
		select {
		case <-ctx.Done():
			l.lose(errClosed) // unless it was released
			return
		case <-time.After(min(pause, time.Until(asked.Add(duration)))):
		}
		if time.Since(asked) >= duration {
			l.lose(errExpired)
			return
		}
		now := time.Now()
		switch err := l.renew(ctx, asked.Add(duration)); {
		case err == nil:
			asked, pause = now, duration/renewDivisor
		case isCode(err, http.StatusConflict):
			switch err := l.again(ctx, asked.Add(duration)); err {
			case nil:
				pause = 0
			case errChanged:
				l.lose(errChanged)
				return
			default:
				pause = min(retryPause, duration/renewDivisor)
			}
		case isCode(err, http.StatusNotFound):
			l.lose(errChanged)
			return
		default:
			pause = min(retryPause, duration/renewDivisor)
		}
	}
}

func (l *lease) renew(ctx context.Context, expires time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, expires)
	defer cancel()
	o, err := l.turns.api.patch(ctx, l.name, l.version, spec{
		HolderIdentity: &l.turns.options.Holder, RenewTime: time.Now().UTC().Format(microTime),
	})
	if err == nil {
		l.version = o.Metadata.ResourceVersion
	}
	return err
}

// again reads the version of a Lease that was changed, such as by a new label. It returns
// errChanged if the turn is lost.
func (l *lease) again(ctx context.Context, expires time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, expires)
	defer cancel()
	o, err := l.turns.api.get(ctx, l.name)
	if err == nil && o.holder() != l.turns.options.Holder || isCode(err, http.StatusNotFound) {
		return errChanged
	}
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.version = o.Metadata.ResourceVersion
	}
	return err
}
