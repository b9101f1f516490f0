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
	maxNamed  = 32   // addresses of clients that do not watch, which the log names
	maxLooked = 1000 // calls that are looked at for such an address, from when nobody watches or a drain begins
)

// callers are the clients: by connection those that watch, by address some that do not. The zero
// value has none.
type callers struct {
	conns sync.Map     // *conn by key of its address: of each connection with a Watch
	looks atomic.Int32 // calls of clients that do not watch whose address is still to be noted

	mu    sync.Mutex
	seen  map[string]struct{} // addresses of clients that do not watch and call now; at most maxNamed; guarded by mu
	named map[string]struct{} // those that the log has named, for ever; at most maxNamed; guarded by mu
}

// conn is a connection with a Watch.
type conn struct {
	key     any
	calls   atomic.Uint64
	watches int // guarded by callers.mu
}

// connKey is the same for all streams of a connection, and another for each connection that is open
// where its address is a pointer, as of TCP and Unix sockets; else the address has to tell them
// apart.
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

// connect notes a Watch, whose calls are counted from now on.
func (c *callers) connect(ctx context.Context) *conn {
	key := connKey(addrOf(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	v, _ := c.conns.LoadOrStore(key, &conn{key: key})
	cn := v.(*conn)
	cn.watches++
	return cn
}

// disconnect notes that a Watch has ended.
func (c *callers) disconnect(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.watches--; cn.watches == 0 {
		c.conns.Delete(cn.key)
	}
}

// called counts a call.
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

// look has the next calls of clients that do not watch noted, or no more. Those noted before stay,
// unless afresh.
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

// see notes a client that does not watch.
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

// hostOf returns the address without the port, which a client changes with each connection.
func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.Network() + " " + a.String()
}

// names returns " (ADDRESS, ...)", or nothing where no such client calls.
func (c *callers) names() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Sorted(maps.Keys(c.seen)), ", ") + ")"
}

// warn names in the log those clients that it has not named yet.
func (c *callers) warn(log *slog.Logger) {
	if fresh := c.unnamed(); len(fresh) > 0 {
		log.Warn("grpcgate: clients call that do not watch health, so their calls overlap collections",
			"clients", fresh, "fix", advice, "named", "each once, 32 at most")
	}
}

// unnamed returns those clients that the log has not named yet, and takes them for named.
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
