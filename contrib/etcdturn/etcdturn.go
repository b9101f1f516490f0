package etcdturn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"evenkeel.dev/gcgate"
)

// closeTimeout bounds Close. Tests raise it.
var closeTimeout = time.Second

const checkTimeout = time.Second

// Turns is one replica of a group. It holds at most one turn. Any goroutine may call its methods.
type Turns struct {
	options Options
	gateLog atomic.Pointer[slog.Logger] // nil before a gate starts
	client  *clientv3.Client
	own     bool
	prefix  string // of the group's keys

	busy       chan struct{} // full while a TryAcquire runs, and after Close
	closing    chan struct{}
	ctx        context.Context // of the goroutines below
	dismiss    context.CancelFunc
	background sync.WaitGroup

	mu      sync.Mutex       // guards what follows; never held during a request
	session *session         // nil: the next TryAcquire opens one
	stale   clientv3.LeaseID // to be revoked; 0: none
	held    *lease
	holders []string // at the last refusal
	cancel  context.CancelFunc
}

var (
	_ gcgate.Checker     = (*Turns)(nil)
	_ gcgate.HolderNamer = (*Turns)(nil)
	_ gcgate.Queue       = (*Turns)(nil)
	_ gcgate.TurnCounter = (*Turns)(nil)
)

// New returns Turns, or an [*evenkeel.OptionError]. It does not wait for etcd. Close them.
func New(o Options) (*Turns, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Turns{
		options: o,
		client:  o.Client,
		prefix:  "/evenkeel/gcgate/" + o.Group + "/",
		busy:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		cancel:  func() {},
	}
	if t.client == nil {
		t.own = true
		if t.client, err = clientv3.New(ClientConfig(o.Endpoints...)); err != nil {
			return nil, refuse("Endpoints", "%v cannot be used: %v", o.Endpoints, err)
		}
	}
	t.ctx, t.dismiss = context.WithCancel(context.Background())
	return t, nil
}

// Attach implements [gcgate.Attacher].
func (t *Turns) Attach(g *gcgate.Gate) { t.gateLog.Store(g.Logger()) }

func (t *Turns) log() *slog.Logger { return cmp.Or(t.gateLog.Load(), slog.Default()) }

// TurnCount implements [gcgate.TurnCounter].
func (t *Turns) TurnCount() int { return t.options.K }

// Check implements [gcgate.Checker]. It reads a key of the group, within a second.
func (t *Turns) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := t.client.Get(ctx, t.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1)); err != nil {
		return t.explain(err)
	}
	return nil
}

// Holders implements [gcgate.HolderNamer]. It names the holders at the last refusal.
func (t *Turns) Holders() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.holders, ", ")
}

// TryAcquire takes a free slot. It returns [gcgate.ErrHeld] if there is none, if a replica waits in
// [Turns.Acquire], or if these Turns hold one. It waits for etcd until ctx or Options.TTL ends.
func (t *Turns) TryAcquire(ctx context.Context) (gcgate.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, t.options.TTL)
	defer cancel()
	return t.acquire(ctx, cancel, func(ctx context.Context) (*lease, error) { return t.tryOnce(ctx, nil) })
}

// acquire takes a slot by try. One acquire runs at a time.
func (t *Turns) acquire(ctx context.Context, cancel context.CancelFunc,
	try func(context.Context) (*lease, error),
) (gcgate.Lease, error) {
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-t.closing:
		return nil, errClosed
	case <-ctx.Done():
		return nil, t.explain(ctx.Err())
	}
	if err := t.begin(ctx, cancel); err != nil {
		return nil, err
	}
	l, err := try(ctx)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // keep has not noticed its end
		l, err = try(ctx)
	}
	if err != nil {
		return nil, t.explain(err)
	}
	return l, nil
}

func (t *Turns) begin(ctx context.Context, cancel context.CancelFunc) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closing:
		return errClosed
	default:
	}
	if t.held != nil {
		return fmt.Errorf("etcdturn: group %q: %w: this process itself", t.options.Group, gcgate.ErrHeld)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("etcdturn: not asked: %w", err)
	}
	t.cancel = cancel
	return nil
}

// tryOnce takes a slot for the session. w is this process's place in the queue, or nil.
func (t *Turns) tryOnce(ctx context.Context, w *place) (*lease, error) {
	s, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	if w != nil && w.session != s {
		return nil, rpctypes.ErrLeaseNotFound // with its place
	}
	done, err := t.client.Do(ctx, t.acquisition(s.id, w))
	if err != nil {
		t.retire(s, err)
		return nil, err
	}
	slot, holders, own := outcome(done.Txn())
	if slot < 0 {
		if w != nil {
			w.looked, w.missing = done.Txn().Header.Revision, !own
		}
		t.mu.Lock()
		t.holders = holders
		t.mu.Unlock()
		return nil, fmt.Errorf("etcdturn: group %q: %w: %q", t.options.Group, gcgate.ErrHeld, holders)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &lease{
		turns: t, session: s, stop: stop, lost: make(chan struct{}),
		key: t.key(slot), revision: done.Txn().Header.Revision,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != s { // which is revoked with the slot
		stop()
		return nil, errEnded
	}
	t.held, t.holders = l, nil
	t.background.Go(func() { l.watch(ctx) })
	return l, nil
}

func (t *Turns) key(slot int) string { return t.prefix + strconv.Itoa(slot) }

// acquisition is the transaction that takes the first free slot for the lease id, or reads the
// holders. With w it takes a slot only if w is first in the queue, and without w only if the queue
// is empty.
func (t *Turns) acquisition(id clientv3.LeaseID, w *place) clientv3.Op {
	first := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(t.prefix+queueKeys).WithPrefix(), "=", 0)}
	var then []clientv3.Op
	otherwise := []clientv3.Op{clientv3.OpGet(t.prefix, clientv3.WithPrefix(), clientv3.WithLimit(int64(t.options.K)))}
	if w != nil {
		first = []clientv3.Cmp{
			clientv3.Compare(clientv3.CreateRevision(w.key), "=", w.revision),
			clientv3.Compare(clientv3.CreateRevision(t.prefix+queueKeys).WithPrefix(), ">", w.revision-1),
		}
		then = []clientv3.Op{clientv3.OpDelete(w.key)}
		// The keys of slots come before those of the queue.
		slots := clientv3.OpGet(t.prefix, clientv3.WithRange(t.prefix+queueKeys))
		otherwise = []clientv3.Op{slots, clientv3.OpGet(w.key)}
	}
	for slot := t.options.K - 1; slot >= 0; slot-- {
		key := t.key(slot)
		op := clientv3.OpTxn(
			append([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}, first...),
			append([]clientv3.Op{clientv3.OpPut(key, t.options.Holder, clientv3.WithLease(id))}, then...),
			otherwise,
		)
		otherwise = []clientv3.Op{op}
	}
	return otherwise[0]
}

// outcome reads the answer to an acquisition. slot is -1 if none was free. own: the place exists.
func outcome(txn *clientv3.TxnResponse) (slot int, holders []string, own bool) {
	for !txn.Succeeded {
		next := txn.Responses[0]
		if inner := next.GetResponseTxn(); inner != nil {
			txn = (*clientv3.TxnResponse)(inner)
			slot++
			continue
		}
		for _, kv := range next.GetResponseRange().Kvs {
			holders = append(holders, string(kv.Value))
		}
		own = len(txn.Responses) > 1 && len(txn.Responses[1].GetResponseRange().Kvs) > 0
		return -1, holders, own
	}
	return slot, nil, false
}

// Close releases the turn, closes its Lost, and ends the lease. It waits a second at most. After an
// error the TTL ends the lease.
func (t *Turns) Close() error {
	t.mu.Lock()
	select {
	case <-t.closing:
		t.mu.Unlock()
		return nil
	default:
	}
	close(t.closing)
	t.cancel()
	t.mu.Unlock()
	t.busy <- struct{}{}

	t.dismiss()
	t.mu.Lock()
	s := t.session
	t.mu.Unlock()
	if s != nil {
		t.retire(s, errClosed)
	}
	t.background.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := t.settle(ctx)
	if err != nil {
		err = fmt.Errorf("etcdturn: lease not revoked, it ends by itself in %v: %w", t.options.TTL, err)
	}
	if t.own {
		if cerr := t.client.Close(); cerr != nil && !errors.Is(cerr, context.Canceled) {
			err = errors.Join(err, cerr)
		}
	}
	return err
}
