package load

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/loadgen"
)

func dialUnix(name string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", name)
	}
}

// ClientFlags say how a load reaches the service.
type ClientFlags struct {
	Unix      string // "": connect to the URL's host
	redirects int
}

func (c *ClientFlags) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.Unix, "unix", "", "connect to this Unix `socket` instead of the URL's host")
	fs.Var((*cli.Whole)(&c.redirects), "redirects",
		"follow at most `N` redirects and measure them as one request (default: a redirect is an answer)")
}

// Apply applies the flags to o.
func (c *ClientFlags) Apply(o *loadgen.Options) error {
	if c.Unix != "" {
		if fi, err := os.Stat(c.Unix); err != nil {
			return fmt.Errorf("-unix: %w", err)
		} else if fi.Mode()&os.ModeSocket == 0 {
			return fmt.Errorf("-unix %s: it is no socket", c.Unix)
		}
		o.DialContext = dialUnix(c.Unix)
	}
	switch {
	case c.redirects == 0:
		return nil
	case c.redirects < 0:
		return fmt.Errorf("-redirects %d; write how many to follow at most, or leave it out for none", c.redirects)
	case o.Streams > 1:
		return errors.New("-redirects goes by net/http's client, which chooses the streams itself; leave out -streams")
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(o.Protocol != loadgen.ProtocolHTTP2)
	protocols.SetHTTP2(o.Protocol != loadgen.ProtocolHTTP1)
	protocols.SetUnencryptedHTTP2(o.Protocol == loadgen.ProtocolHTTP2)
	o.Transport = &following{max: c.redirects, transport: &http.Transport{
		DialContext: o.DialContext, TLSClientConfig: o.TLS, Protocols: protocols,
		MaxIdleConnsPerHost: cmp.Or(o.Connections, defaultOpen), DisableKeepAlives: o.DisableKeepAlive,
		DisableCompression: true,
	}}
	o.Protocol, o.DialContext, o.TLS, o.DisableKeepAlive = loadgen.ProtocolAuto, nil, nil, false
	return nil
}

type following struct {
	max       int
	transport *http.Transport
}

func (f *following) RoundTrip(r *http.Request) (*http.Response, error) {
	client := http.Client{Transport: f.transport, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > f.max {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Do(r)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return resp, err
}

// CloseIdleConnections closes unused connections.
func (f *following) CloseIdleConnections() { f.transport.CloseIdleConnections() }

// HintHTTP2 adds to a load's error that the server speaks h2c.
func HintHTTP2(err error, o *loadgen.Options, l *loadgen.Result) error {
	if err == nil || errors.Is(err, ErrGenerator) || l.Protocol != loadgen.ProtocolHTTP1 || l.Interrupted {
		return err
	}
	u, parseErr := url.Parse(o.Targets[0].URL)
	if parseErr != nil || u.Scheme != "http" {
		return err
	}
	dial := o.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	if speaksHTTP2(dial, fetch.Address(u)) {
		return fmt.Errorf("%w; the server speaks HTTP/2 without TLS (h2c): write -http2", err)
	}
	return err
}

// speaksHTTP2 sends the preface and expects settings (RFC 9113, 3.4).
func speaksHTTP2(dial func(context.Context, string, string) (net.Conn, error), address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), h2cPatience)
	defer cancel()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(h2cPatience))
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00" // an empty frame
	if _, err := io.Copy(conn, strings.NewReader("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings)); err != nil {
		return false
	}
	var head [9]byte // length, type, flags, stream
	_, err = io.ReadFull(conn, head[:])
	return err == nil && head[3] == 4 && head[5]|head[6]|head[7]|head[8] == 0
}

const h2cPatience = 2 * time.Second
