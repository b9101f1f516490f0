package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"evenkeel.dev/loadgen"
)

// ByUnix makes the load connect to a Unix socket instead of the URL's host.
func ByUnix(o *loadgen.Options, socket string) error {
	if fi, err := os.Stat(socket); err != nil {
		return fmt.Errorf("-unix: %w", err)
	} else if fi.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("-unix %s: it is not a socket", socket)
	}
	o.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return nil
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
