package loadgen

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev"
)

func TestOptionErrors(t *testing.T) {
	good := Target{URL: "http://127.0.0.1:1/"}
	target := func(tg Target) Options { return Options{Targets: []Target{good, tg}} }
	at := func(u string) Options { return target(Target{URL: u}) }
	header := func(k, v string) Options { return target(Target{URL: good.URL, Header: http.Header{k: {v}}}) }
	with := func(f func(*Options)) Options {
		o := Options{Targets: []Target{good}}
		f(&o)
		return o
	}
	for _, c := range []struct {
		o     Options
		field string
		says  string // a part of the text
	}{
		{Options{}, "Targets", "at least one URL"},
		{with(func(o *Options) { o.Connections = -1 }), "Connections", "from 1 to 65536"},
		{with(func(o *Options) { o.Connections = MaxConnections + 1 }), "Connections", "from 1 to 65536"},
		{with(func(o *Options) { o.Requests = -1 }), "Requests", "positive, or 0"},
		{with(func(o *Options) { o.Duration = -1 }), "Duration", "24h"},
		{with(func(o *Options) { o.Duration = 25 * time.Hour }), "Duration", "24h"},
		{with(func(o *Options) { o.Warmup = -1 }), "Warmup", "24h"},
		{with(func(o *Options) { o.Warmup = 25 * time.Hour }), "Warmup", "24h"},
		{with(func(o *Options) { o.Timeout = -1 }), "Timeout", "0 (20 s)"},
		{with(func(o *Options) { o.Timeout = math.MaxInt64 }), "Timeout", "24h"},
		{with(func(o *Options) { o.ProgressInterval = -1 }), "ProgressInterval", "positive, or 0"},
		{with(func(o *Options) { o.Rate = -1 }), "Rate", "0 for a closed loop"},
		{with(func(o *Options) { o.Rate = 2e6 }), "Rate", "to 1e+06"},
		{with(func(o *Options) { o.Rate = math.NaN() }), "Rate", "NaN"},
		{with(func(o *Options) { o.Rate = math.Inf(1) }), "Rate", "Inf"},
		{with(func(o *Options) { o.Rate = math.SmallestNonzeroFloat64 }), "Rate", "from 0.0001"},

		{at(""), "Targets[1]", "http://HOST:PORT/PATH"},
		{at("/path"), "Targets[1]", "http://HOST:PORT/PATH"},
		{at("127.0.0.1:80"), "Targets[1]", "URL"},
		{at("localhost:80"), "Targets[1]", "http://HOST:PORT/PATH"},
		{at("ftp://h/"), "Targets[1]", "http or https"},
		{at("http://"), "Targets[1]", "names no host"},
		{at("http://:80/"), "Targets[1]", "names no host"},
		{at("http:opaque"), "Targets[1]", "names no host"},
		{at("http://h:0/"), "Targets[1]", "between 1 and 65535"},
		{at("http://h:65536/"), "Targets[1]", "between 1 and 65535"},
		{at("http://h:http/"), "Targets[1]", "port"},
		{at("http://h/\x7f"), "Targets[1]", "control character"},
		{at("http://h/?a b"), "Targets[1]", "cannot be sent as HTTP/1.1"},
		{at("http://me:secret@h/"), "Targets[1]", "Authorization"},
		{target(Target{URL: good.URL, Method: "CONNECT"}), "Targets[1]", "tunnel"},
		{target(Target{URL: good.URL, Method: "GET /"}), "Targets[1]", "method"},
		{header("X", "a\r\nY: b"), "Targets[1]", "cannot carry"},
		{header("X", "a\x00"), "Targets[1]", "HTTP/1.1"},
		{header("X", " a"), "Targets[1]", "space around"},
		{header("X Y", "a"), "Targets[1]", "cannot carry"},
		{header("", "a"), "Targets[1]", "cannot carry"},
		{header("Content-Length", "3"), "Targets[1]", "leave it out"},
		{header("content-length", "3"), "Targets[1]", "leave it out"},
		{header("Transfer-Encoding", "chunked"), "Targets[1]", "leave it out"},
		{header("Connection", ""), "Targets[1]", "leave it out"},
		{header("Trailer", "X"), "Targets[1]", "leave it out"},
		{header("Host", "a/b"), "Targets[1]", "Host cannot carry"},
		{header("host", "a\nb"), "Targets[1]", "Host"},
	} {
		_, err := Run(context.Background(), c.o)
		var oe *evenkeel.OptionError
		if !errors.As(err, &oe) || oe.Option != c.field || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v; want one of %s with %q", err, c.field, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: shows the password", err)
		}
		if again := Check(c.o); again == nil || err == nil || again.Error() != err.Error() {
			t.Errorf("Check says %v, Run %v", again, err)
		}
	}
}

func TestOptionDefaults(t *testing.T) {
	for _, c := range []struct {
		in, want Options
	}{
		{Options{}, Options{Connections: 50, Requests: 200}},
		{Options{Rate: 1}, Options{Connections: 1000, Requests: 200}},
		{Options{Duration: time.Second}, Options{Connections: 50}},
		{Options{Connections: 3, Requests: 4}, Options{Connections: 3, Requests: 4}},
	} {
		c.in.Targets = []Target{{URL: "http://h"}}
		got, err := c.in.normal()
		if err != nil {
			t.Fatal(err)
		}
		if got.Connections != c.want.Connections || got.Requests != c.want.Requests ||
			got.Timeout != 20*time.Second || got.ProgressInterval != time.Second {
			t.Errorf("%+v became %+v", c.in, got)
		}
	}
}

func TestTargetHosts(t *testing.T) {
	for _, c := range []struct{ url, addr, tls string }{
		{"http://h", "h:80", ""},
		{"https://h/", "h:443", "h"},
		{"HTTPS://H:8443", "H:8443", "H"},
		{"http://127.0.0.1:8080/x", "127.0.0.1:8080", ""},
		{"http://[::1]/", "[::1]:80", ""},
		{"https://[::1]:1/", "[::1]:1", "::1"},
	} {
		_, h, err := Target{URL: c.url}.prepare(false)
		if err != nil || h != (host{c.addr, c.tls}) {
			t.Errorf("%s: %+v, %v", c.url, h, err)
		}
	}
}

func TestTargetWire(t *testing.T) {
	got, err := Target{
		Method: "POST", URL: "http://h:81/a%2Fb?c=d#e", Body: []byte("body"),
		Header: http.Header{"host": {"other"}, "x-a": {"1", "2"}},
	}.wire(true)
	want := "POST /a%2Fb?c=d HTTP/1.1\r\nHost: other\r\nUser-Agent: evenkeel\r\nConnection: close\r\n" +
		"Content-Length: 4\r\nX-A: 1\r\nX-A: 2\r\n\r\nbody"
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
}

// TestProgress has phases in which a busy machine did not get to five requests made longer.
func TestProgress(t *testing.T) {
	for _, o := range []Options{
		{Duration: 150 * time.Millisecond},
		{Requests: 300},
		{Requests: 300, Duration: time.Hour},
		{Duration: 150 * time.Millisecond, Rate: 500},
		{Requests: 75, Rate: 500},
	} {
		n := progresses(t, o)
		for ; n < 5 && o.Requests == 0 && o.Duration < 10*time.Second; n = progresses(t, o) {
			o.Duration *= 4
		}
		if n < 5 {
			t.Errorf("%+v: %d requests", o, n)
		}
	}
}

// progresses checks what is told of a run, and returns how many requests were measured: of less
// than five nothing is known.
func progresses(t *testing.T, o Options) int64 {
	t.Helper()
	// A request is held in each phase until a call has come, of which one knows of answers.
	var warmCalls, knowing, measured atomic.Int64
	var isMeasuring atomic.Bool
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * time.Millisecond)
		switch {
		case !isMeasuring.Load():
			await(r, &warmCalls)
		case measured.Add(1) == 5:
			await(r, &knowing)
		}
		io.WriteString(w, "ok")
	})
	o.Targets, o.Connections, o.Timeout = []Target{{URL: srv.URL}}, 4, patience
	o.Warmup, o.ProgressInterval = 20*time.Millisecond, 10*time.Millisecond
	var calls []Progress // no lock: from one goroutine at a time, and none after Run
	measuring := 0
	o.OnMeasure = func() {
		measuring = len(calls)
		isMeasuring.Store(true)
	}
	o.OnProgress = func(p Progress) {
		calls = append(calls, p)
		switch {
		case p.Warmup:
			warmCalls.Add(1)
		case p.Done > 0:
			knowing.Add(1)
		}
	}
	r := run(t, o)
	if measured.Load() < 5 {
		return measured.Load()
	}
	if measuring == 0 || measuring == len(calls) {
		t.Fatalf("%+v: %d calls in warm-up, %d in all", o, measuring, len(calls))
	}
	var last Progress
	for i, p := range calls {
		if i == measuring {
			last = Progress{}
		}
		if p.Warmup != (i < measuring) {
			t.Errorf("call %d of %d: warm-up %v, and OnMeasure came before %d", i, len(calls), p.Warmup, measuring)
		}
		if p.Fraction < last.Fraction || p.Fraction > 1 || p.Elapsed <= last.Elapsed || p.Done < last.Done ||
			p.Rate < 0 {
			t.Errorf("after %+v came %+v", last, p)
		}
		if p.Failed != 0 || p.Done > 0 && (p.P50 < time.Millisecond || p.P99 < p.P50) {
			t.Errorf("%+v", p)
		}
		last = p
	}
	if last.Done > r.Answered || last.Done == 0 || last.Fraction == 0 {
		t.Errorf("the last was %+v of %d", last, r.Answered)
	}
	return measured.Load()
}

// await returns when n has been counted up, or the request was given up.
func await(r *http.Request, n *atomic.Int64) {
	for n.Load() == 0 && r.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// refusing is a Transport whose last request fails when some failure was told of.
type refusing struct{ sent, told atomic.Int64 }

func (f *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.sent.Add(1) == 20 {
		await(r, &f.told)
	}
	return nil, syscall.ECONNREFUSED
}

func TestProgressOfFailures(t *testing.T) {
	var last Progress
	f := &refusing{}
	r := run(t, Options{
		Targets: []Target{{URL: "http://h/"}}, Connections: 2, Requests: 20, Transport: f, Timeout: patience,
		ProgressInterval: 5 * time.Millisecond, OnProgress: func(p Progress) {
			last = p
			f.told.Store(p.Done)
		},
	})
	if class(r, ClassRefused) != 20 || last.Done != last.Failed || last.Done == 0 || last.Rate != 0 || last.P50 != 0 {
		t.Errorf("%+v; %+v", last, r.Failures)
	}
}

// TestProgressOfTheBacklog has requests fall due that no connection is free for, until it was told of all.
func TestProgressOfTheBacklog(t *testing.T) {
	all := make(chan struct{})
	srv := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-all:
		case <-r.Context().Done():
		}
	})
	told := false
	run(t, Options{
		Targets: []Target{{URL: srv.URL}}, Connections: 2, Rate: 1000, Requests: 7, Timeout: patience,
		ProgressInterval: time.Millisecond,
		OnProgress: func(p Progress) {
			if !told && p.InFlight == 2 && p.Backlog == 5 {
				told = true
				close(all)
			}
		},
	})
	if !told {
		t.Error("nothing was said of 2 requests in flight and 5 that are due")
	}
}
