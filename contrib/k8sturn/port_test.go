package k8sturn_test

import (
	"net"
	"sync"
	"testing"
)

// port is one of this process for as long as the test lasts, whether a server listens on it or not:
// else another process may have it when the server comes back. Who connects meanwhile is hung up
// on.
type port struct {
	net.Listener

	mu   sync.Mutex
	door *door // where connections go; nil: nowhere; guarded by mu
}

func newPort(t testing.TB) *port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &port{Listener: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.pass(c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return p
}

func (p *port) pass(c net.Conn) {
	p.mu.Lock()
	d := p.door
	p.mu.Unlock()
	if d == nil {
		c.Close()
		return
	}
	select {
	case d.conns <- c:
	case <-d.closed:
		c.Close()
	}
}

// open returns a listener on the port. Only one may be open.
func (p *port) open() net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.door = &door{port: p, conns: make(chan net.Conn), closed: make(chan struct{})}
	return p.door
}

// door is a listener on a port, which stays when it is closed.
type door struct {
	port   *port
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (d *door) Addr() net.Addr { return d.port.Addr() }

func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() {
		d.port.mu.Lock()
		d.port.door = nil
		d.port.mu.Unlock()
		close(d.closed)
	})
	return nil
}
