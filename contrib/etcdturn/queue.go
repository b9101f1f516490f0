package etcdturn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"evenkeel.dev/gcgate"
)

// queueKeys is the prefix of waiting replicas' keys. The revision of a key is its place.
const queueKeys = "queue/"

// leaveTimeout bounds the removal of a place. After it the lease is given up.
const leaveTimeout = time.Second

// lookAgain is how often a waiting replica looks whether its session has ended.
const lookAgain = time.Second

// One call of Acquire owns a place.
type place struct {
	session  *session
	key      string
	revision int64
	looked   int64
	missing  bool
}

// Acquire waits for a slot until ctx ends, in the order of arrival. While etcd is away it fails.
func (t *Turns) Acquire(ctx context.Context) (gcgate.Lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return t.acquire(ctx, cancel, t.wait)
}

func (t *Turns) wait(ctx context.Context) (*lease, error) {
	asking, cancel := context.WithTimeout(ctx, t.options.TTL)
	defer cancel()
	l, err := t.tryOnce(asking, nil)
	if !errors.Is(err, gcgate.ErrHeld) {
		return l, err
	}
	w, err := t.enlist(asking)
	if err != nil {
		return nil, err
	}
	for {
		asking, cancel := context.WithTimeout(ctx, t.options.TTL)
		l, err := t.tryOnce(asking, w)
		cancel()
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, gcgate.ErrHeld):
		case w.missing: // an operator has deleted it
			if w, err = t.enlist(ctx); err != nil {
				return nil, err
			}
		default:
			err = t.awaitChange(ctx, w)
		}
		if err != nil {
			t.leave(w)
			return nil, err
		}
	}
}

func (t *Turns) enlist(ctx context.Context) (*place, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	w := &place{session: s, key: fmt.Sprintf("%s%x", t.prefix+queueKeys, s.id)}
	done, err := t.client.Put(ctx, w.key, t.options.Holder, clientv3.WithLease(s.id))
	if err != nil {
		t.retire(s, err)
		return nil, err
	}
	w.revision = done.Header.Revision
	return w, nil
}

// awaitChange returns nil when a key was deleted since the last attempt, or after lookAgain.
func (t *Turns) awaitChange(ctx context.Context, w *place) error {
	watching, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	for answer := range t.client.Watch(watching, t.prefix, clientv3.WithPrefix(), clientv3.WithRev(w.looked+1),
		clientv3.WithFilterPut()) {
		if err := answer.Err(); err != nil {
			return fmt.Errorf("the queue cannot be watched: %w", err)
		}
		if len(answer.Events) > 0 {
			break
		}
	}
	t.mu.Lock()
	ended := t.session != w.session
	t.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ended:
		return rpctypes.ErrLeaseNotFound // with its place
	}
	return nil
}

// leave removes the place, or retires the session if etcd does not answer.
func (t *Turns) leave(w *place) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if _, err := t.client.Delete(ctx, w.key); err != nil {
		t.retire(w.session, err)
	}
}
