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
	"evenkeel.dev/cmd/evenkeel/internal/proc"
)

const (
	readyPoll    = 20 * time.Millisecond
	readyTimeout = 2 * time.Second // of an attempt
)

type readiness struct {
	url    string
	client *http.Client
}

func newReadiness(url string, c *tls.Config) *readiness {
	client := fetch.NewClient(readyTimeout, c)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &readiness{url, client}
}

// AwaitReady waits until a URL answers, the process ends, or the time is up.
func AwaitReady(ctx context.Context, url string, c *tls.Config, p *proc.Process, timeout time.Duration) error {
	return newReadiness(url, c).wait(ctx, p, timeout)
}

// free fails if something listens, because the load would measure that.
func (r *readiness) free(ctx context.Context) error {
	addr, err := r.dial(ctx)
	if addr == "" {
		return err
	}
	if err != nil {
		return nil
	}
	return fmt.Errorf("something listens at %s already; stop it, or choose another port", addr)
}

func (r *readiness) refused(ctx context.Context) bool {
	_, err := r.dial(ctx)
	return errors.Is(err, syscall.ECONNREFUSED)
}

func (r *readiness) dial(ctx context.Context) (addr string, err error) {
	u, err := url.Parse(r.url)
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

// wait polls until the status is below 500. It finishes the first look, so that an error has a
// cause.
func (r *readiness) wait(ctx context.Context, p *proc.Process, timeout time.Duration) error {
	first := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNotReady)
	defer cancel()
	last := ""
	for {
		look := ctx
		if last == "" {
			look = first
		}
		resp, err := fetch.Get(look, r.client, r.url)
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
					timeout, last, r.url)
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
