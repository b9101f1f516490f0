package loadgen

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"evenkeel.dev"
)

// Protocol is the version of HTTP that the built-in client speaks.
type Protocol string

// The protocols have the names of ALPN.
const (
	ProtocolAuto  Protocol = ""         // HTTP/2 if all servers offer it by ALPN, else HTTP/1.1
	ProtocolHTTP1 Protocol = "http/1.1" // HTTP/1.1
	ProtocolHTTP2 Protocol = "h2"       // HTTP/2, by ALPN over TLS, or with prior knowledge over TCP (h2c)
)

func (o *Options) normalProtocol() *evenkeel.OptionError {
	switch {
	case !slices.Contains([]Protocol{ProtocolAuto, ProtocolHTTP1, ProtocolHTTP2}, o.Protocol):
		return optionError("Protocol", "%q; it is ProtocolAuto, ProtocolHTTP1 or ProtocolHTTP2", o.Protocol)
	case o.Protocol != ProtocolAuto && (o.Transport != nil || o.Call != nil):
		return optionError("Protocol", "it is for the built-in client, which Transport and Call replace; leave it out")
	case o.Protocol == ProtocolHTTP2 && o.DisableKeepAlive:
		return optionError("DisableKeepAlive", "HTTP/2 keeps its connections; leave it out, or choose HTTP/1.1")
	case o.Streams < 0 || o.Streams > maxStreams:
		return optionError("Streams", "%d; it goes from 1 to %d", o.Streams, maxStreams)
	case o.Streams > 1 && o.Protocol == ProtocolHTTP1:
		return optionError("Streams", "%d, but HTTP/1.1 has one request at a time on a connection; leave it out",
			o.Streams)
	}
	o.Streams = max(o.Streams, 1)
	return nil
}

// preparedHTTP2 prepares requests for HTTP/2, and reports whether the run may speak it.
func (e *engine) preparedHTTP2() (bool, error) {
	o := &e.o
	if o.Protocol == ProtocolHTTP1 || o.Transport != nil || o.Call != nil || o.DisableKeepAlive {
		return false, nil
	}
	if o.Protocol == ProtocolAuto && slices.ContainsFunc(e.hosts, func(h host) bool { return h.tls == "" }) {
		return false, nil
	}
	for i := range e.reqs {
		var err error
		if e.reqs[i].fields, err = e.reqs[i].target.fields(); err == nil {
			continue
		}
		if o.Protocol == ProtocolAuto {
			return false, nil
		}
		return false, optionError(fmt.Sprintf("Targets[%d]", i), "%v", err)
	}
	return true, nil
}

// fields returns the header of an HTTP/2 request (RFC 9113, 8.2 and 8.3.1).
func (t Target) fields() ([]hpack.HeaderField, error) {
	r, err := t.httpRequest()
	if err != nil {
		return nil, err
	}
	fs := []hpack.HeaderField{
		{Name: ":method", Value: r.Method},
		{Name: ":scheme", Value: r.URL.Scheme},
		{Name: ":authority", Value: r.Host},
		{Name: ":path", Value: r.URL.RequestURI()},
	}
	if r.Header.Get("User-Agent") == "" {
		fs = append(fs, hpack.HeaderField{Name: "user-agent", Value: "evenkeel"})
	}
	for k, vs := range r.Header {
		switch k {
		case "Upgrade", "Keep-Alive", "Proxy-Connection":
			return nil, fmt.Errorf("header %s is one of HTTP/1.1's connections; HTTP/2 has none of them: leave it "+
				"out, or choose HTTP/1.1", k)
		}
		for _, v := range vs {
			fs = append(fs, hpack.HeaderField{Name: strings.ToLower(k), Value: v})
		}
	}
	switch n := len(t.Body); {
	case n > 0, t.Method == http.MethodPost, t.Method == http.MethodPut, t.Method == http.MethodPatch:
		fs = append(fs, hpack.HeaderField{Name: "content-length", Value: fmt.Sprint(n)})
	}
	return fs, nil
}

var errNoHTTP2 = errors.New("the server does not offer HTTP/2 (h2, by ALPN)")

// negotiate chooses the protocol if the servers decide. It connects to each once. A server that does
// not answer decides for HTTP/1.1.
func (e *engine) negotiate(ctx context.Context) {
	if !e.http2 || e.o.Protocol == ProtocolHTTP2 {
		return
	}
	offered := make([]bool, len(e.hosts))
	var wg sync.WaitGroup
	for i, h := range e.hosts {
		wg.Go(func() {
			nc, err := e.connect(ctx, h, http2.NextProtoTLS, "http/1.1")
			if err == nil {
				offered[i] = speaksHTTP2(nc)
				nc.Close()
			}
		})
	}
	wg.Wait()
	e.http2 = !slices.Contains(offered, false)
}

func speaksHTTP2(nc net.Conn) bool {
	tc, ok := nc.(*tls.Conn)
	return !ok || tc.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS
}

func (e *engine) connected(ctx context.Context, host int) (*conn, error) {
	protocol := "http/1.1"
	if e.http2 {
		protocol = http2.NextProtoTLS
	}
	nc, err := e.connect(ctx, e.hosts[host], protocol)
	if err != nil {
		return nil, err
	}
	if e.http2 && !speaksHTTP2(nc) {
		nc.Close()
		return nil, dialError{errNoHTTP2, ClassTLS}
	}
	c := &conn{Conn: nc}
	if !e.http2 {
		c.br = bufio.NewReaderSize(c, readBufferBytes)
	}
	return c, e.track(c)
}

// connect connects to a host. TLS chooses among the protocols.
func (e *engine) connect(ctx context.Context, h host, protocols ...string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	nc, err := e.o.DialContext(ctx, "tcp", h.addr)
	if err != nil {
		return nil, dialError{err, ClassConnect}
	}
	if h.tls == "" {
		return nc, nil
	}
	cfg := e.o.TLS.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	if cfg.ServerName == "" {
		cfg.ServerName = h.tls
	}
	cfg.NextProtos = protocols
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, dialError{err, ClassTLS}
	}
	return tc, nil
}
