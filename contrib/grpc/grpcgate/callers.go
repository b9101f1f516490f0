package grpcgate

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/peer"
)

const (
	maxNamed  = 32   // addresses that the log names
	maxLooked = 1000 // calls whose clients look notes
)

// callers are the clients, with a Watch or without.
type callers struct {
	conns sync.Map     // *conn by connKey, those with a Watch
	looks atomic.Int32 // calls still to be noted

	mu    sync.Mutex
	seen  map[string]struct{} // addresses without a Watch, maxNamed at most; guarded by mu
	named map[string]struct{} // by the log; guarded by mu
}

type conn struct {
	key     any
	calls   atomic.Uint64
	watches int // guarded by callers.mu
}

// connKey is the same for all streams of a connection. Pointers to addresses of TCP and Unix
// sockets differ for each open connection.
func connKey(a net.Addr) any {
	switch a := a.(type) {
	case nil:
		return nil
	case *net.TCPAddr, *net.UnixAddr:
		return a
	default:
		return a.String()
	}
}

func addrOf(ctx context.Context) net.Addr {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr
	}
	return nil
}

// connect counts the calls of a connection with a Watch, until disconnect.
func (c *callers) connect(ctx context.Context) *conn {
	key := connKey(addrOf(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	v, _ := c.conns.LoadOrStore(key, &conn{key: key})
	cn := v.(*conn)
	cn.watches++
	return cn
}

func (c *callers) disconnect(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.watches--; cn.watches == 0 {
		c.conns.Delete(cn.key)
	}
}

func (c *callers) called(ctx context.Context) {
	addr := addrOf(ctx)
	if v, ok := c.conns.Load(connKey(addr)); ok {
		v.(*conn).calls.Add(1)
		return
	}
	if addr != nil && c.looks.Load() > 0 && c.looks.Add(-1) >= 0 {
		c.see(hostOf(addr))
	}
}

// look begins or ends to note the clients that do not watch. afresh forgets the last ones.
func (c *callers) look(on, afresh bool) {
	n := int32(0)
	if on {
		n = maxLooked
	}
	c.looks.Store(n)
	if afresh {
		c.mu.Lock()
		defer c.mu.Unlock()
		clear(c.seen)
	}
}

func (c *callers) see(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxNamed {
		return
	}
	if c.seen == nil {
		c.seen, c.named = make(map[string]struct{}), make(map[string]struct{})
	}
	c.seen[host] = struct{}{}
}

// hostOf leaves out the port, which differs for each connection.
func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.Network() + " " + a.String()
}

// names returns " (ADDRESS, ...)" or "".
func (c *callers) names() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Sorted(maps.Keys(c.seen)), ", ") + ")"
}

// warn logs each client that does not watch once.
func (c *callers) warn(log *slog.Logger) {
	if fresh := c.unnamed(); len(fresh) > 0 {
		log.Warn("grpcgate: clients call that do not watch health, so their calls overlap collections",
			"clients", fresh, "fix", advice, "named", "each once, 32 at most")
	}
}

// unnamed returns the clients that the log has not named, and marks them.
func (c *callers) unnamed() (fresh []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for host := range c.seen {
		if _, told := c.named[host]; !told && len(c.named) < maxNamed {
			c.named[host] = struct{}{}
			fresh = append(fresh, host)
		}
	}
	slices.Sort(fresh)
	return fresh
}
