package region_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"testing"

	"evenkeel.dev/reqtrace/region"
)

func Example() {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	})
	srv := httptest.NewServer(region.Middleware(hello))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fmt.Print(string(body), err)
	// Output:
	// hello
	// <nil>
}

// TestOff: without a trace it allocates nothing.
func TestOff(t *testing.T) {
	h := region.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Request-Id", "a")
	if n := testing.AllocsPerRun(100, func() {
		h.ServeHTTP(w, r)
		region.Start(context.Background(), "a").End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMiddleware(b *testing.B) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Request-Id", "a")
	for _, traced := range []bool{false, true} {
		name := map[bool]string{false: "off", true: "on"}[traced]
		for what, h := range map[string]http.Handler{"without": next, "with": region.Middleware(next)} {
			b.Run(name+"/"+what, func(b *testing.B) {
				if traced {
					if err := trace.Start(io.Discard); err != nil {
						b.Fatal(err)
					}
					defer trace.Stop()
				}
				for b.Loop() {
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}
