package etcdturn

import (
	"context"
	"fmt"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A lease is a slot that is held. It implements gcgate.Lease.
type lease struct {
	turns    *Turns
	session  *session
	key      string
	revision int64              // of the transaction that took the slot
	stop     context.CancelFunc // ends watch
	lost     chan struct{}      // closed by watch
	released atomic.Bool
}

// Lost implements gcgate.Lease. The slot is lost if the lease ends, if the key is deleted or
// changed, or if Turns is closed.
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
	// A late duplicate cannot delete another holder's key, because no other put has this revision.
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
	why := errEnded
	if changed, err := l.changed(ctx); changed {
		why = errChanged
		l.drop()
	} else if ctx.Err() == nil { // the key may be ours, but no watch would tell
		why = err
		l.turns.retire(l.session, err)
	}
	if l.released.Load() {
		return
	}
	l.turns.log().Warn("etcdturn: turn lost, another replica may collect at the same time",
		"key", l.key, "reason", why)
	close(l.lost)
}

// changed reports whether the key was deleted or changed. An error says why it cannot know.
func (l *lease) changed(ctx context.Context) (bool, error) {
	for answer := range l.turns.client.Watch(ctx, l.key, clientv3.WithRev(l.revision+1)) {
		if err := answer.Err(); err != nil {
			return false, fmt.Errorf("the key cannot be watched: %w", err)
		}
		if len(answer.Events) > 0 { // else it is a progress message
			return true, nil
		}
	}
	return false, errUnwatched
}
