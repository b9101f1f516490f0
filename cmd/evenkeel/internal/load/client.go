package load

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/loadgen"
)

func dialUnix(name string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", name)
	}
}

type ClientFlags struct {
	Unix      string // "": connect to the URL's host
	redirects int
}

func (c *ClientFlags) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.Unix, "unix", "", "connect to this Unix `socket` instead of the URL's host")
	fs.Var((*cli.Whole)(&c.redirects), "redirects",
		"follow at most `N` redirects and measure them as one request (default: a redirect is an answer)")
}

func (c *ClientFlags) Apply(o *loadgen.Options) error {
	if c.Unix != "" {
		if fi, err := os.Stat(c.Unix); err != nil {
			return fmt.Errorf("-unix: %w", err)
		} else if fi.Mode()&os.ModeSocket == 0 {
			return fmt.Errorf("-unix %s: it is not a socket", c.Unix)
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
	transport := &http.Transport{
		DialContext: o.DialContext, TLSClientConfig: o.TLS, Protocols: protocols,
		MaxIdleConnsPerHost: cmp.Or(o.Connections, defaultOpen), DisableKeepAlives: o.DisableKeepAlive,
		DisableCompression: true,
	}
	o.Transport = &following{http.Client{Transport: transport, CheckRedirect: c.redirect}}
	o.Protocol, o.DialContext, o.TLS, o.DisableKeepAlive = loadgen.ProtocolAuto, nil, nil, false
	return nil
}

func (c *ClientFlags) redirect(_ *http.Request, via []*http.Request) error {
	if len(via) > c.redirects {
		return http.ErrUseLastResponse
	}
	return nil
}

type following struct{ http.Client }

func (f *following) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.Do(r)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return resp, err
}

const h2cPatience = 2 * time.Second

// HintHTTP2 adds to a load's error that the server speaks h2c. To find out, it sends one GET of "/".
func HintHTTP2(err error, o *loadgen.Options, l *loadgen.Result) error {
	if err == nil || errors.Is(err, ErrGenerator) || l.Protocol != loadgen.ProtocolHTTP1 || l.Interrupted {
		return err
	}
	u, parseErr := url.Parse(o.Targets[0].URL)
	if parseErr != nil || u.Scheme != "http" {
		return err
	}
	probe := loadgen.Options{
		Targets: []loadgen.Target{{URL: "http://" + u.Host + "/"}}, Protocol: loadgen.ProtocolHTTP2,
		DialContext: o.DialContext, Connections: 1, Requests: 1, Timeout: h2cPatience,
	}
	if res, probeErr := loadgen.Run(context.Background(), probe); probeErr == nil && res.Answered > 0 {
		return fmt.Errorf("%w; the server speaks HTTP/2 without TLS (h2c): write -http2", err)
	}
	return err
}
