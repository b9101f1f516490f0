package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"evenkeel.dev/gcgate/internal/inband"
)

// A Transport is an [http.RoundTripper] that spreads requests over replicas, and keeps them off one
// that collects. The replicas need an httpgate.InBand signal or gcgate.PolicyShed.
//
// A target that announces a drain gets no request until a probe, a GET of its "/", says that it is
// back. If all are drained, the one that is back soonest serves. A target that cannot be dialed, or
// lets three requests in a row time out, is left out for 100 ms, doubling up to 2 s.
//
// A request is sent again, once to each other target at most, if its body is available again and
//
//   - the answer is 503 with Gcgate-Refused, which proves that no handler ran; or
//   - the connection could not be dialed; or
//   - the connection broke before the answer's header, and the request is idempotent.
//
// Any goroutine may use a Transport. Do not copy it, nor change its fields after the first request.
type Transport struct {
	// Base sends each request to its target. Its *net.OpError of Op "dial" must mean that nothing
	// was sent. Default: nil, a clone of http.DefaultTransport for each target, with up to 256 idle
	// connections and 1 s to dial.
	Base http.RoundTripper

	// Targets are the replicas' base URLs, scheme and host, as in "http://10.0.0.7:8080". The Host
	// header stays the caller's. No default. Limit: 1024.
	Targets []string

	once sync.Once
	err  error
	own  bool // the bases are ours to close
	pool pool
}

const (
	maxTargets    = 1024
	idlePerTarget = 256
	dialTimeout   = time.Second

	// With HTTP/2 a waiting request does not notice a machine that has vanished.
	pingEvery   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

func (t *Transport) init() error {
	t.once.Do(func() {
		t.pool.epoch = time.Now()
		t.pool.targets, t.err = parseTargets(t.Targets)
		t.own = t.Base == nil
		for _, g := range t.pool.targets {
			if g.base = t.Base; t.own {
				g.base = newBase()
			}
		}
	})
	return t.err
}

func newBase() *http.Transport {
	b := &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true}
	if d, ok := http.DefaultTransport.(*http.Transport); ok { // unless the program replaced it
		b = d.Clone()
	}
	b.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	b.MaxIdleConns = 0
	b.MaxIdleConnsPerHost = idlePerTarget
	if b.HTTP2 == nil {
		b.HTTP2 = &http.HTTP2Config{}
	}
	b.HTTP2.SendPingTimeout = cmp.Or(b.HTTP2.SendPingTimeout, pingEvery)
	b.HTTP2.PingTimeout = cmp.Or(b.HTTP2.PingTimeout, pingTimeout)
	return b
}

func parseTargets(urls []string) ([]*target, error) {
	if len(urls) == 0 {
		return nil, errors.New(
			`client: Transport.Targets is empty: set the replicas' base URLs, such as "http://127.0.0.1:8081"`)
	}
	if len(urls) > maxTargets {
		return nil, fmt.Errorf("client: Transport.Targets: %d are too many: set at most %d", len(urls), maxTargets)
	}
	targets := make([]*target, len(urls))
	for i, s := range urls {
		u, err := url.Parse(s)
		if err != nil {
			return nil, fmt.Errorf("client: Transport.Targets[%d]: %w", i, err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf(`client: Transport.Targets[%d]: %q is not a base URL: `+
				`set scheme and host only, such as "http://127.0.0.1:8081"`,
				i, u.Redacted())
		}
		targets[i] = &target{index: i, scheme: u.Scheme, host: u.Host}
	}
	return targets, nil
}

// RoundTrip implements [http.RoundTripper]. It returns the error of the last attempt.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.usable(req); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	again := canResend(req)
	tried := make([]bool, len(t.pool.targets))
	g := t.pool.pick(tried, again)
	body := req.Body
	for {
		tried[g.index] = true
		sent := t.pool.clock()
		resp, err := g.base.RoundTrip(g.aim(req, body))
		t.learn(g, req, resp, err, sent)
		var next *target
		if again && retries(req, resp, err) {
			next = t.pool.pick(tried, again)
		}
		if next == nil {
			ofThisHop(resp)
			if resp != nil {
				resp.Request = req // without the target's address
			}
			return resp, err
		}
		if err == nil {
			discard(resp.Body)
		}
		if g = next; body != nil && body != http.NoBody {
			if body, err = req.GetBody(); err != nil {
				return nil, fmt.Errorf("client: Transport: body to send again: %w", err)
			}
		}
	}
}

func (t *Transport) usable(req *http.Request) error {
	if err := t.init(); err != nil {
		return err
	}
	if req.URL == nil {
		return errors.New("client: Transport: the request has no URL")
	}
	if t.pool.closed.Load() {
		return fmt.Errorf("client: Transport: %w", net.ErrClosed)
	}
	return nil
}

func (t *Transport) learn(g *target, req *http.Request, resp *http.Response, err error, sent int64) {
	if err != nil {
		switch {
		case isDial(err) && req.Context().Err() == nil:
			g.fail(t.pool.clock())
		case isTimeout(req, err):
			if t.pool.silent(g, sent) && t.own {
				closeIdle(g.base) // otherwise each lets a request time out
			}
		}
		return
	}
	g.heard.Store(t.pool.clock())
	g.served.Store(sent)
	g.answered()
	// From when the request was sent, because its answer may be slow.
	if d, ok := inband.ParseMillis(resp.Header, inband.HeaderDrain); ok {
		t.pool.leave(g, sent, d, req)
	} else if d, ok := inband.ParseMillis(resp.Header, inband.HeaderRetryAfter); ok && isRefused(resp) {
		t.pool.leave(g, sent, d, req)
	}
}

// ofThisHop removes headers, because a proxy that hands the answer on is not drained.
func ofThisHop(resp *http.Response) {
	if resp != nil {
		delete(resp.Header, inband.HeaderDrain)
		delete(resp.Header, inband.HeaderRetryAfter)
		delete(resp.Header, inband.HeaderRefused)
	}
}

func retries(req *http.Request, resp *http.Response, err error) bool {
	switch {
	case req.Context().Err() != nil:
		return false
	case err == nil:
		return isRefused(resp)
	default:
		return isDial(err) || isIdempotent(req) && isBroken(err)
	}
}

func isRefused(resp *http.Response) bool {
	return resp.StatusCode == http.StatusServiceUnavailable && inband.IsOne(resp.Header, inband.HeaderRefused)
}

func canResend(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// isIdempotent reports whether req may run twice, by the rules of net/http.
func isIdempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header["Idempotency-Key"] != nil || req.Header["X-Idempotency-Key"] != nil
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// isBroken reports whether the connection ended before the answer's header. A target that times out
// is slow, and another request would make it slower.
func isBroken(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return !op.Timeout()
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Close ends the probes. New requests fail with net.ErrClosed. It returns nil, and may be called
// again.
func (t *Transport) Close() error {
	if t.init() != nil {
		return nil
	}
	t.pool.close()
	if t.own {
		t.CloseIdleConnections()
	}
	return nil
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if t.init() != nil {
		return
	}
	if !t.own {
		closeIdle(t.Base)
		return
	}
	for _, g := range t.pool.targets {
		closeIdle(g.base)
	}
}

func closeIdle(base http.RoundTripper) { (&http.Client{Transport: base}).CloseIdleConnections() }

var _ http.RoundTripper = (*Transport)(nil)
