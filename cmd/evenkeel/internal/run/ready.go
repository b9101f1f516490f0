package run

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/internal/proc"
)

const (
	readyPoll    = 20 * time.Millisecond
	readyTimeout = 2 * time.Second // of an attempt
)

// free fails if something listens, because the load would measure that.
func free(ctx context.Context, url string) error {
	addr, err := dial(ctx, url)
	if addr == "" {
		return err
	}
	if err != nil {
		return nil
	}
	return fmt.Errorf("something listens at %s already; stop it, or choose another port", addr)
}

func refused(ctx context.Context, url string) bool {
	_, err := dial(ctx, url)
	return errors.Is(err, syscall.ECONNREFUSED)
}

func dial(ctx context.Context, at string) (addr string, err error) {
	u, err := url.Parse(at)
	if err != nil {
		return "", err
	}
	addr = fetch.Address(u)
	d := net.Dialer{Timeout: readyTimeout}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		c.Close()
	}
	return addr, err
}

// AwaitReady polls a URL until the status is below 500, the process ends, or the time is up. It
// finishes the first look, so that an error has a cause.
func AwaitReady(ctx context.Context, url string, c *tls.Config, p *proc.Process, timeout time.Duration) error {
	client := fetch.NewClient(readyTimeout, c)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	first := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNotReady)
	defer cancel()
	last := ""
	for {
		look := ctx
		if last == "" {
			look = first
		}
		resp, err := fetch.Get(look, client, url)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode < 500 {
				return nil
			}
			last = "it answered " + resp.Status
		} else if errors.As(err, new(*tls.CertificateVerificationError)) {
			return fmt.Errorf("%w: -insecure accepts any certificate", err)
		} else if look.Err() == nil {
			last = err.Error()
		}
		select {
		case <-p.Done():
			return fmt.Errorf("%w before it was ready: %s", errEnded, p.Exit())
		case <-ctx.Done():
			if context.Cause(ctx) == errNotReady {
				return fmt.Errorf("the server was not ready within %v (%s); check -ready %s and -ready-timeout",
					timeout, last, url)
			}
			return cli.ErrInterrupted
		case <-time.After(readyPoll):
		}
	}
}

var (
	errNotReady = errors.New("not ready")
	errEnded    = errors.New("the server ended")
)
