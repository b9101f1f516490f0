package loadgen

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

type request struct {
	host       int                 // index into hosts
	wire       []byte              // as HTTP/1.1
	head       bool                // the answer has no body
	replayable bool                // if a kept connection proves dead
	target     Target              // for Options.Transport
	fields     []hpack.HeaderField // nil: no HTTP/2
}

type host struct {
	addr string // host:port
	tls  string // "": plain TCP
}

func prepare(o Options) (reqs []request, hosts []host, err error) {
	seen := map[host]int{}
	for i, t := range o.Targets {
		r, h, err := t.prepare(o.DisableKeepAlive)
		if err != nil {
			return nil, nil, optionError(fmt.Sprintf("Targets[%d]", i), "%v", err)
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
		return request{}, host{}, fmt.Errorf("%q is not an http or https URL; write it as http://HOST:PORT/PATH", t.URL)
	case u.Hostname() == "":
		return request{}, host{}, fmt.Errorf("%q names no host; write it as http://HOST:PORT/PATH", t.URL)
	case u.User != nil:
		return request{}, host{}, fmt.Errorf("%q names a user; send the header Authorization instead", u.Redacted())
	case t.Method == http.MethodConnect:
		return request{}, host{}, fmt.Errorf("method CONNECT opens a tunnel, which is not a request to measure")
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

// wire writes the request as net/http does, and reads it back to see that it kept each header.
func (t Target) wire(closeAfter bool) ([]byte, error) {
	r, err := t.httpRequest()
	if err != nil {
		return nil, err
	}
	for _, k := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Trailer"} {
		if r.Header.Values(k) != nil {
			return nil, fmt.Errorf("header %s is set by the client; leave it out", k)
		}
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
			return nil, fmt.Errorf("header %q: %q has a character that a header cannot carry, or space around it", k,
				vs)
		}
	}
	if back.Host == "" { // net/http leaves out what it finds invalid
		return nil, fmt.Errorf("host %q has a character that the header Host cannot carry", r.Host)
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
	for k, vs := range t.Header {
		for _, v := range vs {
			r.Header.Add(k, v)
		}
	}
	if v := r.Header.Get("Host"); v != "" {
		r.Host = v
	}
	r.Header.Del("Host")
	return r, nil
}

// MaxTargets limits the targets, and the requests of a [Round].
const MaxTargets = 1 << 20

const (
	maxClasses   = 64
	otherTargets = "other targets" // the class of those without a class, beyond maxClasses
)

// Round returns the order of the targets that Run repeats, as indexes. A target of weight 3 is in
// it three times, evenly spread. An error is an *evenkeel.OptionError.
func Round(targets []Target) ([]int, error) {
	if len(targets) > MaxTargets {
		return nil, optionError("Targets", "%d; there may be %d", len(targets), MaxTargets)
	}
	common := 0
	for i := range targets {
		w := targets[i].Weight
		if w < 0 || w > MaxTargets {
			return nil, optionError(fmt.Sprintf("Targets[%d].Weight", i),
				"%d; it goes from 1 to %d, or is 0 for 1", w, MaxTargets)
		}
		common = greatestCommon(common, targets[i].weight())
	}
	type turn struct {
		place  float64 // 0 to 1
		target int
	}
	var turns []turn
	for i := range targets {
		w := targets[i].weight() / common
		if len(turns)+w > MaxTargets {
			return nil, optionError("Targets", "a round of their weights has over %d requests: write smaller weights",
				MaxTargets)
		}
		for k := range w {
			turns = append(turns, turn{(float64(k) + .5) / float64(w), i})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.place, b.place) })
	round := make([]int, len(turns))
	for i, t := range turns {
		round[i] = t.target
	}
	return round, nil
}

func (t *Target) weight() int { return max(t.Weight, 1) }

func greatestCommon(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// classesOf returns the classes with their names and shares, and the class of each target. Those
// without a name are named "METHOD URL". If these are too many, they are one class.
func classesOf(targets []Target) (list []TargetClass, of []int, err error) {
	list, of = group(targets, (*Target).class)
	if len(list) > maxClasses {
		list, of = group(targets, func(t *Target) string { return cmp.Or(t.Class, otherTargets) })
	}
	if len(list) > maxClasses {
		err = optionError("Targets", "%d classes; there may be %d", len(list), maxClasses)
	}
	return list, of, err
}

func group(targets []Target, name func(*Target) string) (list []TargetClass, of []int) {
	index := map[string]int{}
	total := 0.
	for i := range targets {
		t := &targets[i]
		k, ok := index[name(t)]
		if !ok {
			k = len(list)
			index[name(t)] = k
			list = append(list, TargetClass{Name: name(t)})
		}
		of = append(of, k)
		list[k].Share += float64(t.weight())
		total += float64(t.weight())
	}
	for k := range list {
		list[k].Share /= total
	}
	return list, of
}

func (t *Target) class() string { return cmp.Or(t.Class, cmp.Or(t.Method, "GET")+" "+t.URL) }
