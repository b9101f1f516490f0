package etcdturn

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const retryPause = 250 * time.Millisecond

// A session is an etcd lease that is kept alive.
type session struct {
	id   clientv3.LeaseID
	ctx  context.Context
	stop context.CancelFunc
}

func (t *Turns) open(ctx context.Context) (*session, error) {
	t.mu.Lock()
	s := t.session
	t.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	asked := time.Now()
	grant, err := t.client.Grant(ctx, int64(t.options.TTL/time.Second))
	if err != nil {
		return nil, err // a lease that was granted has no keys, and expires
	}
	keep, stop := context.WithCancel(context.Background())
	alive, err := t.client.KeepAlive(keep, grant.ID)
	if err != nil {
		stop()
		return nil, err
	}
	s = &session{id: grant.ID, ctx: keep, stop: stop}
	t.mu.Lock()
	t.session = s
	t.mu.Unlock()
	t.background.Go(func() { t.keep(s, alive, asked.Add(seconds(grant.TTL))) })
	t.log().Debug("etcdturn: lease granted", "group", t.options.Group, "lease", grant.ID, "ttl", seconds(grant.TTL))
	return s, nil
}

// keep retires s when its lease may have expired. The client alone tells up to a second late, and
// stops if the first answer takes three seconds.
func (t *Turns) keep(s *session, alive <-chan *clientv3.LeaseKeepAliveResponse, expires time.Time) {
	timer := time.NewTimer(time.Until(expires))
	defer timer.Stop()
	var again <-chan time.Time
	for {
		select {
		case answer, ok := <-alive:
			if !ok {
				alive, again = nil, time.After(retryPause)
				continue
			}
			timer.Reset(seconds(answer.TTL))
		case <-again:
			var err error
			if alive, err = t.client.KeepAlive(s.ctx, s.id); err != nil {
				t.retire(s, err)
				return
			}
		case <-timer.C:
			t.retire(s, context.DeadlineExceeded)
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// retire ends s and its turn, and has its lease revoked.
func (t *Turns) retire(s *session, why error) {
	s.stop()
	t.mu.Lock()
	if t.session != s {
		t.mu.Unlock()
		return
	}
	held := t.held
	t.session, t.held, t.stale = nil, nil, s.id
	t.background.Go(t.revokeSoon) // with mu held, so that Close waits for it
	t.mu.Unlock()
	if held != nil {
		held.stop()
	}
	t.log().Debug("etcdturn: lease given up", "group", t.options.Group, "lease", s.id, "reason", why)
}

// revokeSoon tries to settle for as long as a lease may live.
func (t *Turns) revokeSoon() {
	ctx, cancel := context.WithTimeout(t.ctx, t.options.TTL)
	defer cancel()
	for {
		err := t.settle(ctx)
		if err == nil || t.ctx.Err() != nil { // Close settles
			return
		}
		select {
		case <-ctx.Done():
			t.log().Debug("etcdturn: lease not revoked, left to its TTL", "group", t.options.Group, "error", err)
			return
		case <-time.After(retryPause):
		}
	}
}

// settle revokes the last session's lease, and all its keys, even one whose transaction is on its
// way.
func (t *Turns) settle(ctx context.Context) error {
	t.mu.Lock()
	id := t.stale
	t.mu.Unlock()
	if id == clientv3.NoLease {
		return nil
	}
	if _, err := t.client.Revoke(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stale == id {
		t.stale = clientv3.NoLease
	}
	return nil
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// A lease is a slot that is held.
type lease struct {
	turns    *Turns
	session  *session
	key      string
	revision int64 // of the transaction that took the slot
	stop     context.CancelFunc
	lost     chan struct{}
	released atomic.Bool
}

func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release implements gcgate.Lease. After an error the slot is freed in the background, or by the
// TTL.
func (l *lease) Release(ctx context.Context) error {
	if !l.released.CompareAndSwap(false, true) {
		return nil
	}
	l.stop()
	t := l.turns
	t.mu.Lock()
	held := t.held == l
	t.mu.Unlock()
	if !held { // lost
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.options.TTL)
	defer cancel()
	// A late duplicate cannot delete another holder's key. No other put has this revision.
	_, err := t.client.Txn(ctx).If(
		clientv3.Compare(clientv3.ModRevision(l.key), "=", l.revision),
		clientv3.Compare(clientv3.LeaseValue(l.key), "=", l.session.id),
	).Then(clientv3.OpDelete(l.key)).Commit()
	if err != nil {
		t.retire(l.session, err)
		return fmt.Errorf("%s not released yet, which goes on in the background: %w", l.key, t.explain(err))
	}
	l.drop()
	return nil
}

func (l *lease) drop() {
	l.turns.mu.Lock()
	defer l.turns.mu.Unlock()
	if l.turns.held == l {
		l.turns.held = nil
	}
}

// watch waits until the slot is lost, or ctx ends.
func (l *lease) watch(ctx context.Context) {
	defer l.stop()
	why := errUnwatched
	for answer := range l.turns.client.Watch(ctx, l.key, clientv3.WithRev(l.revision+1)) {
		if err := answer.Err(); err != nil {
			why = fmt.Errorf("the key cannot be watched: %w", err)
			break
		}
		if len(answer.Events) > 0 { // else a progress message
			why = errChanged
			break
		}
	}
	switch {
	case why == errChanged:
		l.drop()
	case ctx.Err() != nil:
		why = errEnded
	default: // the key may be ours, but no watch would tell
		l.turns.retire(l.session, why)
	}
	if l.released.Load() {
		return
	}
	l.turns.log().Warn("etcdturn: turn lost, another replica may collect at the same time",
		"key", l.key, "reason", why)
	close(l.lost)
}
