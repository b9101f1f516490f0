package traces

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/cpuwatch"
)

const (
	traceSeconds   = 5
	maxTraceBytes  = 1 << 30
	traceConnect   = 10 * time.Second
	tracePatience  = 30 * time.Second
	maxTraceWindow = time.Hour
)

const RecorderPath = "/debug/evenkeel/"

// endpoint is a /debug/pprof/trace or a recorder's snapshot. It is fetched before it is read,
// because reading takes processors.
type endpoint struct {
	at       *url.URL
	url      string
	seconds  float64 // to trace; 0: a snapshot
	client   *http.Client
	patience time.Duration // without a byte, after seconds
	longest  time.Duration // for the whole, after seconds
	most     int64
	cpu      *cpuwatch.CPU // of -cpu-stat; nil: watch the process that listens there
}

func newEndpoint(name string, c *tls.Config) (*endpoint, error) {
	u, err := url.Parse(name)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is no URL of a trace; write it as http://HOST:PORT/debug/pprof/trace?seconds=5",
			name)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%q: %w; write it as http://HOST:PORT/debug/pprof/trace?seconds=5", name, err)
	}
	if p := strings.TrimSuffix(u.Path, "/"); p == "" || p+"/" == observe.PProfPath {
		u.Path = observe.PProfPath + "trace"
	}
	if at, ok := snapshotURL(u); ok {
		return newEndpointOf(at, 0, c), nil
	}
	if q.Get("seconds") == "" {
		q.Set("seconds", strconv.Itoa(traceSeconds))
		u.RawQuery = q.Encode()
	}
	seconds, err := strconv.ParseFloat(q.Get("seconds"), 64)
	if err != nil || math.IsNaN(seconds) || seconds <= 0 || seconds > maxTraceWindow.Seconds() {
		return nil, fmt.Errorf("seconds=%s; it must be more than 0 and at most %g", q.Get("seconds"),
			maxTraceWindow.Seconds())
	}
	return newEndpointOf(u, seconds, c), nil
}

func newEndpointOf(at *url.URL, seconds float64, c *tls.Config) *endpoint {
	t := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: c, Proxy: http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: traceConnect}).DialContext, TLSHandshakeTimeout: traceConnect,
	}
	return &endpoint{
		at: at, url: at.String(), seconds: seconds, client: &http.Client{Transport: t}, patience: tracePatience,
		longest: 10 * tracePatience, most: maxTraceBytes,
	}
}

func snapshotURL(u *url.URL) (at *url.URL, ok bool) {
	dir, name := path.Split(strings.TrimSuffix(u.Path, "/"))
	switch {
	case dir+name+"/" == RecorderPath:
		return u.JoinPath("snapshot"), true
	case name == "snapshot", path.Base(dir) == "snapshot":
		return u, true
	}
	return nil, false
}

func (s *endpoint) fetch(ctx context.Context) (*spool, error) {
	window := time.Duration(s.seconds * 1e9)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(window+s.patience, func() {
		cancel(fmt.Errorf("%s: no byte came for %v: is it a /debug/pprof/trace? Ask for fewer seconds", s.url,
			window+s.patience))
	})
	defer silent.Stop()
	long := time.AfterFunc(window+s.longest, func() {
		cancel(fmt.Errorf("%s: it goes on after %v: ask for fewer seconds", s.url, window+s.longest))
	})
	defer long.Stop()
	b, err := s.get(ctx, func() { silent.Reset(window + s.patience) })
	switch cause := context.Cause(ctx); {
	case err == nil:
		return b, nil
	case errors.Is(cause, context.Canceled):
		return nil, cli.ErrInterrupted
	default:
		return nil, cmp.Or(cause, err)
	}
}

func (s *endpoint) get(ctx context.Context, progress func()) (*spool, error) {
	resp, err := fetch.Get(ctx, s.client, s.url)
	if err != nil {
		return nil, fmt.Errorf("%w: is the server running, and is this its /debug/pprof/?", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s%s: %s", s.url, resp.Status, fetch.FirstLine(resp.Body),
			adviceOn(resp.StatusCode))
	}
	b, n, err := newSpool(io.LimitReader(&watched{resp.Body, progress}, s.most+1))
	if b != nil && (err != nil || n > s.most) {
		b.Close()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer broke off after %d bytes: %w; did the server end?", s.url, n, err)
	case n > s.most:
		return nil, fmt.Errorf("%s: the trace is over %d MiB: ask for fewer seconds", s.url, s.most>>20)
	}
	return b, nil
}

func adviceOn(status int) string {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "import net/http/pprof in the server, or name its /debug/pprof/ (-pprof) or its recorder"
	case http.StatusBadRequest:
		return "ask for fewer seconds, or give the server a longer WriteTimeout"
	case http.StatusInternalServerError:
		return "a server takes one trace at a time: try again when the other is done"
	case http.StatusUnauthorized, http.StatusForbidden:
		return "fetch it with curl and its credentials, and give evenkeel explain the file"
	}
	return "it must answer 200"
}

type watched struct {
	r        io.Reader
	progress func()
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.progress()
	}
	return n, err
}

// spool is a fetched trace in a temporary file, to be read once and closed.
type spool struct{ *os.File }

func newSpool(r io.Reader) (s *spool, n int64, err error) {
	f, err := os.CreateTemp("", "evenkeel-trace-")
	if err != nil {
		return nil, 0, fmt.Errorf("no temporary file for the trace: %w; set TMPDIR to a folder with room", err)
	}
	s = &spool{f}
	if n, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return s, n, err
}

func (s *spool) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }

// save leaves the spool at its start.
func (s *spool) save(name string) error {
	return runfile.Save(name, func(w io.Writer) error {
		_, err := io.Copy(w, s.File)
		_, seekErr := s.Seek(0, io.SeekStart)
		return errors.Join(err, seekErr)
	})
}
