package loadgen

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Limits of Options.
const (
	MaxConnections = 1 << 16
	MaxRate        = 1e6 // requests per second
	maxDuration    = 24 * time.Hour
)

// OptionError is what Run returns for options that make no sense.
type OptionError struct {
	Field  string // of Options
	Reason string // what is wrong and what to write instead
}

func (e *OptionError) Error() string { return "loadgen: " + e.Field + ": " + e.Reason }

// Target is one request to send.
type Target struct {
	Method string      // default GET
	URL    string      // absolute, http or https
	Header http.Header // default none; "Host" here overrides the URL's
	Body   []byte      // default empty; not changed, must not change during Run
}

// Options of a run. Only Targets is required.
type Options struct {
	// Targets are sent in turn.
	Targets []Target

	// Connections is the number of concurrent requests in the closed loop (default 50) and
	// the most connections that the open loop opens (default 1,000; it starts with few). At
	// most MaxConnections.
	Connections int

	// Requests ends the run after that many measured requests. Default: no bound, or 200
	// where Duration is 0 too (as hey).
	Requests int

	// Duration ends the run after that time; what is in flight may finish. Default: no
	// bound. At most 24 h.
	Duration time.Duration

	// Rate is requests per second in the open loop, at most MaxRate. Default 0: closed loop.
	Rate float64

	// Warmup is time under the same load before measuring starts. Default 0: none. The last
	// answer to it is awaited before the first measured request.
	Warmup time.Duration

	// OnMeasure is called between warm-up and measurement, when no request is in flight.
	// Default nil: nothing.
	OnMeasure func()

	// Timeout of one request, from its sending to the last byte of its answer; also of
	// dialling, and of the open loop's backlog after the last request was due. Default 20 s.
	Timeout time.Duration

	// DisableKeepAlive opens a connection for each request. Default false.
	DisableKeepAlive bool

	// TLS configures https. Default nil: the system's roots.
	TLS *tls.Config

	// Transport carries the requests instead of the built-in client. Default nil: built in.
	// Its RoundTrip must be safe for concurrent use; TLS and DisableKeepAlive are then its own
	// business.
	Transport http.RoundTripper

	// OnProgress is called about every ProgressInterval (default 1 s) from one goroutine.
	// Default nil: nothing.
	OnProgress       func(Progress)
	ProgressInterval time.Duration // default 1 s
}

// Progress is where a run stands.
type Progress struct {
	Warmup   bool          // not measuring yet
	Elapsed  time.Duration // in this phase
	Done     int64         // answered or failed, in this phase
	Failed   int64         // of Done
	Rate     float64       // answers per second since the last call
	P50, P99 time.Duration // so far, in this phase
	Fraction float64       // of this phase, 0 to 1
}

// normal returns o with defaults filled in, or what is wrong with it.
func (o Options) normal() (Options, error) {
	bad := func(field, format string, a ...any) (Options, error) {
		return o, &OptionError{field, fmt.Sprintf(format, a...)}
	}
	switch {
	case len(o.Targets) == 0:
		return bad("Targets", "none; name at least one URL")
	case o.Rate < 0 || o.Rate > MaxRate || math.IsNaN(o.Rate):
		return bad("Rate", "%v requests/s; it goes from 0 (closed loop) to %v", o.Rate, MaxRate)
	case o.Connections < 0 || o.Connections > MaxConnections:
		return bad("Connections", "%d; it goes from 1 to %d", o.Connections, MaxConnections)
	case o.Requests < 0:
		return bad("Requests", "%d; it must be positive, or 0 for no bound", o.Requests)
	case o.Duration < 0 || o.Duration > maxDuration:
		return bad("Duration", "%v; it goes from 0 (no bound) to %v", o.Duration, maxDuration)
	case o.Warmup < 0 || o.Warmup > maxDuration:
		return bad("Warmup", "%v; it goes from 0 (none) to %v", o.Warmup, maxDuration)
	case o.Timeout < 0:
		return bad("Timeout", "%v; it must be positive, or 0 for 20 s", o.Timeout)
	}
	if o.Connections == 0 {
		o.Connections = 50
		if o.Rate > 0 {
			o.Connections = 1000
		}
	}
	if o.Requests == 0 && o.Duration == 0 {
		o.Requests = 200
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.ProgressInterval <= 0 {
		o.ProgressInterval = time.Second
	}
	return o, nil
}

// request is a Target made ready to send.
type request struct {
	host       int    // index into hosts of the run
	wire       []byte // head and body as HTTP/1.1 sends them
	head       bool   // the answer has no body
	replayable bool   // may be sent again when a kept connection turns out to be dead
	target     Target // for Options.Transport
}

// host is where a connection goes.
type host struct {
	addr string // host:port
	tls  string // server name, or "" for plain TCP
}

func prepare(o Options) (reqs []request, hosts []host, err error) {
	seen := map[host]int{}
	for i, t := range o.Targets {
		r, h, err := t.prepare(o.DisableKeepAlive)
		if err != nil {
			return nil, nil, &OptionError{fmt.Sprintf("Targets[%d]", i), err.Error()}
		}
		k, ok := seen[h]
		if !ok {
			k = len(hosts)
			seen[h], hosts = k, append(hosts, h)
		}
		r.host = k
		reqs = append(reqs, r)
	}
	return reqs, hosts, nil
}

func (t Target) prepare(closeAfter bool) (request, host, error) {
	if t.Method == "" {
		t.Method = http.MethodGet
	}
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return request{}, host{}, err
	case u.Scheme != "http" && u.Scheme != "https":
		return request{}, host{}, fmt.Errorf("%q is no http or https URL; write it as http://HOST:PORT/PATH", t.URL)
	case u.Hostname() == "":
		return request{}, host{}, fmt.Errorf("%q names no host; write it as http://HOST:PORT/PATH", t.URL)
	case t.Method == http.MethodConnect:
		return request{}, host{}, fmt.Errorf("method CONNECT opens a tunnel; it is no load")
	}
	port := u.Port()
	h := host{}
	if u.Scheme == "https" {
		h.tls = u.Hostname()
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return request{}, host{}, fmt.Errorf("%q: port %s is not between 1 and 65535", t.URL, port)
	}
	h.addr = net.JoinHostPort(u.Hostname(), port)

	wire, err := t.wire(closeAfter)
	if err != nil {
		return request{}, host{}, err
	}
	return request{wire: wire, head: t.Method == http.MethodHead, replayable: replayable(t), target: t}, h, nil
}

// wire lays the request out as net/http does, and reads it back to see that no header was
// dropped or changed on the way.
func (t Target) wire(closeAfter bool) ([]byte, error) {
	for _, k := range []string{"Content-Length", "Transfer-Encoding", "Connection"} {
		if t.Header.Get(k) != "" {
			return nil, fmt.Errorf("header %s is set by the client; leave it out", k)
		}
	}
	r, err := t.httpRequest()
	if err != nil {
		return nil, err
	}
	r.Close = closeAfter
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "evenkeel")
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		return nil, err
	}
	back, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b.Bytes())))
	if err != nil {
		return nil, fmt.Errorf("the request cannot be sent as HTTP/1.1: %w", err)
	}
	for k, vs := range r.Header {
		if !slices.Equal(back.Header[k], vs) {
			return nil, fmt.Errorf("header %q: %q has a character that a header cannot carry", k, vs)
		}
	}
	return b.Bytes(), nil
}

// replayable follows net/http's (*Request).isReplayable: RFC 9110, 9.2.2.
func replayable(t Target) bool {
	switch t.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return t.Header.Get("Idempotency-Key") != "" || t.Header.Get("X-Idempotency-Key") != ""
}

func (t Target) httpRequest() (*http.Request, error) {
	var body io.Reader
	if len(t.Body) > 0 {
		body = bytes.NewReader(t.Body)
	}
	r, err := http.NewRequest(t.Method, t.URL, body)
	if err != nil {
		return nil, err
	}
	if t.Header != nil {
		r.Header = t.Header.Clone()
		if v := t.Header.Get("Host"); v != "" {
			r.Host = v
			r.Header.Del("Host")
		}
	}
	return r, nil
}
