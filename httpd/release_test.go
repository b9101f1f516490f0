package httpd

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// ending is a wire of a connection that is closed when a Read has found nothing, before its worker knows.
type ending struct{ wire }

func (e ending) Read(p []byte) (int, error) {
	n, err := e.wire.Read(p)
	_ = e.wire.Close()
	return n, err
}

// TestClosedWhileReadNow: ConnState hears of the end of a connection of TLS that is closed while its worker looks for the next request.
func TestClosedWhileReadNow(t *testing.T) {
	told := make(chan http.ConnState, 2)
	s := &server{hooks: &hooks{connState: func(_ net.Conn, to http.ConnState) { told <- to }}, config: &tls.Config{}, open: 1, workers: 1}
	c := &conn{server: s, handle: new(aio.Conn), traffic: &still, served: true}
	c.tls = tls.Server(ending{wire{c}}, s.config)
	w := newWorker(s)
	w.conn, w.fresh, w.woken, w.surplus = c, false, false, true // it ends when it has let c go
	c.worker = w
	if n, err := w.Read(make([]byte, readSize)); n != 0 || err != io.EOF {
		t.Fatalf("%d bytes, %v; want the worker's end", n, err)
	}
	if !c.forgotten || s.open != 0 {
		t.Fatal("the connection is not forgotten")
	}
	select {
	case to := <-told:
		if to != http.StateClosed || len(told) > 0 {
			t.Errorf("told %v and %d more, want %v once", to, len(told), http.StateClosed)
		}
	case <-time.After(30 * time.Second):
		t.Error("nobody tells of its end")
	}
}
