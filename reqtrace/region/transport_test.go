package region_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

const (
	span   = "00f067aa0ba902b7"
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-" + span + "-01"
)

// tracing takes a trace until end.
func tracing(t *testing.T) (end func() []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trace.Stop)
	return func() []byte { trace.Stop(); return b.Bytes() }
}

func requests(t *testing.T, b []byte) (list []reqtrace.Request) {
	t.Helper()
	o := reqtrace.Options{Each: func(q reqtrace.Request) { list = append(list, q) }}
	if _, err := reqtrace.Analyze(t.Context(), bytes.NewReader(b), o); err != nil {
		t.Fatal(err)
	}
	return list
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestCalls: caller and callee have the same id in a trace, whoever of a request's goroutines called.
func TestCalls(t *testing.T) {
	prices := httptest.NewServer(region.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer prices.Close()
	client := &http.Client{Transport: region.Transport(nil)}
	defer client.CloseIdleConnections()
	call := func(ctx context.Context) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, prices.URL, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := client.Do(r); err != nil {
			t.Error(err)
		} else {
			res.Body.Close()
		}
	}
	shop := httptest.NewServer(region.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		call(r.Context())
		var others sync.WaitGroup
		others.Go(func() { call(r.Context()) })
		others.Wait()
	})))
	defer shop.Close()
	end := tracing(t)
	for range 3 {
		r, _ := http.NewRequest(http.MethodGet, shop.URL, nil)
		r.Header.Set("Traceparent", parent)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	client.CloseIdleConnections() // so that the last requests end
	shop.Close()
	prices.Close()
	callers, calls := map[string]int{}, map[string]int{}
	for _, q := range requests(t, end()) {
		callers[q.Caller]++
		if q.Caller == span && len(q.Calls) != 2 {
			t.Errorf("%d calls, want 2", len(q.Calls))
		}
		for _, c := range q.Calls {
			calls[c.ID]++
			if c.Start < q.Start || c.Start > q.End {
				t.Errorf("a call at %v, of a request from %v to %v", c.Start, q.Start, q.End)
			}
		}
	}
	if callers[span] != 3 {
		t.Errorf("%d requests of the span, want 3", callers[span])
	}
	delete(callers, span)
	if d := cmp.Diff(callers, calls); d != "" || len(calls) != 6 {
		t.Errorf("callers and calls: %s", d)
	}
}

// TestHeaders: the id is the caller's span. Transport adds a header of its own only if there is none,
// and changes no request.
func TestHeaders(t *testing.T) {
	end := tracing(t)
	defer end()
	for _, tt := range []struct {
		name, header, value string
		adds                bool
	}{
		{"W3C", "Traceparent", parent, false},
		{"a later version", "Traceparent", "01" + parent[2:] + "-more", false},
		{"b3", "B3", "80f198ee56343ba864fe8b2a57d3eff7-" + span + "-1-05e3ac9a4f6e3b90", false},
		{"b3 of two parts", "B3", "80f198ee56343ba8-" + span, false},
		{"b3 of several headers", "X-B3-Spanid", span, false},
		{"no header", "Accept", "text/plain", true},
		{"a zero span", "Traceparent", strings.Replace(parent, span, "0000000000000000", 1), true},
		{"version ff", "Traceparent", "ff" + parent[2:], true},
		{"a cut one", "Traceparent", parent[:50], true},
		{"upper case", "Traceparent", strings.ToUpper(parent), true},
		{"b3 that denies", "B3", "0", true},
	} {
		r, _ := http.NewRequest(http.MethodGet, "http://prices/", nil)
		r.Header.Set(tt.header, tt.value)
		before := r.Header.Clone()
		var sent http.Header
		res, err := region.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			sent = r.Header
			return &http.Response{Body: http.NoBody}, nil
		})).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if d := cmp.Diff(before, r.Header); d != "" {
			t.Errorf("%s: the caller's request: %s", tt.name, d)
		}
		id := sent.Get("Evenkeel-Call")
		if adds := id != ""; adds != tt.adds || adds && len(id) != 16 {
			t.Errorf("%s: sent with the id %q", tt.name, id)
		}
		if got := sent.Get(tt.header); got != tt.value {
			t.Errorf("%s: %s became %s", tt.name, tt.value, got)
		}
	}
}

// TestInherited: a proxy copies our header of the call that brought its request. Its own call has
// another id.
func TestInherited(t *testing.T) {
	end := tracing(t)
	defer end()
	r, _ := http.NewRequest(http.MethodGet, "http://prices/", nil)
	r.Header.Set("Evenkeel-Call", span)
	res, err := region.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
		if ids := r.Header["Evenkeel-Call"]; len(ids) != 1 || ids[0] == span || len(ids[0]) != 16 {
			t.Errorf("sent with %q", ids)
		}
		return &http.Response{Body: http.NoBody}, nil
	})).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if r.Header.Get("Evenkeel-Call") != span {
		t.Error("the caller's request was changed")
	}
}

// TestTransportOff: without a trace nothing is added or allocated.
func TestTransportOff(t *testing.T) {
	r, _ := http.NewRequest(http.MethodGet, "http://prices/", nil)
	answer := &http.Response{Body: http.NoBody}
	transport := region.Transport(roundTripper(func(got *http.Request) (*http.Response, error) {
		if got != r || len(got.Header) > 0 {
			t.Error("another request was sent")
		}
		return answer, nil
	}))
	if n := testing.AllocsPerRun(100, func() {
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Error(err)
		}
		res.Body.Close()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkMarks takes both sides of a call.
func BenchmarkMarks(b *testing.B) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	answer := &http.Response{Body: http.NoBody}
	w := httptest.NewRecorder()
	for _, marked := range []bool{false, true} {
		handler := http.Handler(next)
		if marked {
			handler = region.Middleware(next)
		}
		var send http.RoundTripper = roundTripper(func(r *http.Request) (*http.Response, error) {
			handler.ServeHTTP(w, r)
			return answer, nil
		})
		if marked {
			send = region.Transport(send)
		}
		for _, traced := range []bool{false, true} {
			for _, header := range []string{"", parent} {
				name := fmt.Sprintf("marked=%t/traced=%t/traceparent=%t", marked, traced, header != "")
				b.Run(name, func(b *testing.B) {
					r, _ := http.NewRequest(http.MethodGet, "http://prices/", nil)
					if header != "" {
						r.Header.Set("Traceparent", header)
					}
					if traced {
						if err := trace.Start(io.Discard); err != nil {
							b.Fatal(err)
						}
						defer trace.Stop()
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := send.RoundTrip(r); err != nil { //nolint:bodyclose // it has none
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
