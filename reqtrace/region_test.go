package reqtrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/internal/mark"
	"evenkeel.dev/reqtrace/region"
)

// ids returns the ids of the requests that f makes, from its trace.
func ids(t *testing.T, f func()) (ids []string) {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		f()
		close(done)
	}()
	<-done
	trace.Stop()
	for r, err := range reqtrace.Read(t.Context(), &buf, reqtrace.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

func TestIDs(t *testing.T) {
	long := strings.Repeat("x", 100)
	h := region.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	got := ids(t, func() {
		for _, id := range []string{"a", "", long} {
			region.Start(context.Background(), id).End()
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Request-Id", "b")
		h.ServeHTTP(httptest.NewRecorder(), r)
	})
	if want := []string{"a", "", long[:64], "b"}; strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRoute: a request's class is the route that a mux found within the middleware, or around it.
func TestRoute(t *testing.T) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panics/1" {
			panic(http.ErrAbortHandler)
		}
	})
	within, around := http.NewServeMux(), http.NewServeMux()
	within.Handle("GET /orders/{id}", handler)
	within.Handle("/panics/", handler)
	around.Handle("/around/", region.Middleware(handler))
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for _, path := range []string{"/orders/7", "/panics/1", "/none", "/around/it"} {
			h := region.Middleware(within)
			if path == "/around/it" {
				h = around
			}
			func() {
				defer func() { _ = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
			}()
		}
		time.Sleep(time.Nanosecond) // a wait, with which the last one is over
	}()
	<-done
	trace.Stop()
	report, err := reqtrace.Analyze(t.Context(), bytes.NewReader(buf.Bytes()), reqtrace.Options{})
	if err != nil || len(report.Classes) != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	var classes []string
	for r, err := range reqtrace.Read(t.Context(), bytes.NewReader(buf.Bytes()), reqtrace.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		classes = append(classes, r.Class)
	}
	if !strings.Contains(classes[2], "/") { // where there is no route, a function that was seen in a stack, if one was
		classes[2] = ""
	}
	if got, want := strings.Join(classes, ", "), "GET /orders/{id}, /panics/, , /around/"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	alone := 0
	for r, err := range reqtrace.Read(t.Context(), bytes.NewReader(buf.Bytes()),
		reqtrace.Options{Class: "GET /orders/*"}) {
		if alone++; err != nil || r.Class != "GET /orders/{id}" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if alone != 1 {
		t.Errorf("%d requests of one class, want 1", alone)
	}
	var option *evenkeel.OptionError
	if _, err := reqtrace.Analyze(t.Context(), &buf, reqtrace.Options{Class: "main.nobody"}); !errors.As(err,
		&option) || !strings.Contains(err.Error(), `"GET /orders/{id}" (1)`) {
		t.Errorf("%v", err)
	}
}

// TestOwnRegions: of several types of the program's own regions each is a class.
func TestOwnRegions(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for _, name := range []string{"own.read", "own.write", "other", "own.read"} {
			trace.StartRegion(context.Background(), name).End()
		}
	}()
	<-done
	trace.Stop()
	var classes []string
	for r, err := range reqtrace.Read(t.Context(), &buf, reqtrace.Options{Region: "own.*"}) {
		if err != nil {
			t.Fatal(err)
		}
		classes = append(classes, r.Class)
	}
	if got, want := strings.Join(classes, ","), "own.read,own.write,own.read"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPanic: the region of a handler that panics ends.
func TestPanic(t *testing.T) {
	h := region.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	got := ids(t, func() {
		for range 2 {
			func() {
				defer func() { _ = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			}()
		}
	})
	if len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestIdentity: two traces of overlapping times have the same clock and the same ends, so that a
// request that both have is told as one; also where one has no more than its end, with what it was
// told there.
func TestIdentity(t *testing.T) {
	fr := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Hour, MaxBytes: 64 << 20})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	defer fr.Stop()
	begin := time.Now()
	var late bytes.Buffer
	done := make(chan error)
	go func() {
		region.Start(context.Background(), "whole").End()
		time.Sleep(time.Microsecond) // the wait that ends it
		q := region.Start(context.Background(), "early")
		err := trace.Start(&late)
		trace.Log(context.Background(), mark.ID, "late")
		q.End()
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	trace.Stop()
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if _, err := fr.WriteTo(b); err != nil {
			t.Fatal(err)
		}
	}
	read := func(r io.Reader) map[string]reqtrace.Request {
		all := map[string]reqtrace.Request{}
		for q, err := range reqtrace.Read(t.Context(), r, reqtrace.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			all[q.ID] = q
		}
		return all
	}
	a, b, c := read(&first), read(&second), read(&late)
	same := func(p, q reqtrace.Request) bool {
		return p.Clock != 0 && p.Goroutine == q.Goroutine && p.Clock == q.Clock
	}
	if len(a) != 2 || len(b) != 2 || !same(a["whole"], b["whole"]) || !same(a["late"], b["late"]) ||
		same(a["whole"], a["late"]) {
		t.Errorf("%+v\nand again\n%+v", a, b)
	}
	if q := c["late"]; len(c) != 1 || q.Cut != reqtrace.CutStart || !same(q, a["late"]) {
		t.Errorf("the one that is cut off is %+v, want it to be %+v", c, a["late"])
	}
	if at := a["whole"].Began; at.Before(begin.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("it began at %v, which is not between %v and now", at, begin)
	}
}
