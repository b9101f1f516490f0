package loadgen

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
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
