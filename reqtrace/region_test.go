package reqtrace_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"strings"
	"testing"

	"evenkeel.dev/reqtrace"
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
