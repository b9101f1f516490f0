//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/examples/fastcserver/matrix"
)

func service(t *testing.T) (http.Handler, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	h, source, err := newHandler(log, io.Discard)
	if err != nil || source == "" {
		t.Fatalf("source %q, %v", source, err)
	}
	return h, log
}

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// TestProducts compares the answers with Go's own. Sizes alternate, so that matrices are used
// again.
func TestProducts(t *testing.T) {
	h, log := service(t)
	n := 0
	for range 2 {
		for _, tt := range []struct{ size, loop int }{{62, 2}, {1, 1}, {5, 1000}, {150, 1}} {
			a, b, out := make([]float64, tt.size*tt.size), make([]float64, tt.size*tt.size),
				make([]float64, tt.size*tt.size)
			matrix.Fill(a, b, tt.size)
			matrix.Product(a, b, out, tt.size, tt.loop)
			want := product{tt.size, tt.loop, matrix.Trace(out, tt.size), matrix.Sum(out, tt.size)}
			for _, way := range []string{"cgo", "blockcall", "yield", "go"} {
				n++
				path := fmt.Sprintf("/%s/%d/%d", way, tt.size, tt.loop)
				code, body := get(h, path)
				var got product
				if err := json.Unmarshal([]byte(body), &got); code != 200 || err != nil || got != want {
					t.Errorf("%s: status %d, %s, %v; want %+v", path, code, body, err, want)
				}
				if !strings.Contains(log.String(), `"`+path+`"`) {
					t.Errorf("%s is not in the access log", path)
				}
			}
		}
	}
	if lines := strings.Count(log.String(), "[GIN]"); lines != n {
		t.Errorf("%d lines in the access log for %d requests", lines, n)
	}
}

func TestOtherEndpoints(t *testing.T) {
	h, _ := service(t)
	for path, want := range map[string]string{
		"/many/cgo":  `{"calls":1000,"sum":499500}`,
		"/many/fast": `{"calls":1000,"sum":499500}`,
	} {
		if code, body := get(h, path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %s; want %s", path, code, body, want)
		}
	}
}

func TestBounds(t *testing.T) {
	h, _ := service(t)
	const (
		size = "size is a whole number from 1 to 512, and not "
		loop = "loop is a whole number from 1 to 1000, and not "
	)
	for _, tt := range []struct{ path, says string }{
		{"0/1", size},
		{"-1/1", size},
		{"513/1", size},
		{"x/1", size},
		{"62.5/1", size},
		{"99999999999999999999/1", size},
		{"62/0", loop},
		{"62/-2", loop},
		{"62/1001", loop},
		{"62/two", loop},
		{"512/3", "size 512 leaves loop a range of 1 to 2, as size*size*size*loop is at most 268435456; it is 3"},
		{"100/1000", "size 100 leaves loop a range of 1 to 268"},
	} {
		for _, way := range []string{"/cgo/", "/blockcall/", "/yield/", "/go/"} {
			refused(t, h, way+tt.path, tt.says)
		}
	}
	for _, path := range []string{"/cgo/62", "/blockcall", "/nothing", "/cgo/62/2/1"} {
		if code, _ := get(h, path); code != 404 {
			t.Errorf("%s: status %d, want 404", path, code)
		}
	}
}

func refused(t *testing.T, h http.Handler, path, says string) {
	t.Helper()
	code, body := get(h, path)
	var answer struct{ Error string }
	if err := json.Unmarshal([]byte(body), &answer); code != 400 || err != nil ||
		!strings.Contains(answer.Error, says) {
		t.Errorf("%s: status %d, %s, %v; want %q", path, code, body, err, says)
	}
}

// TestTogether tests that no two requests share matrices.
func TestTogether(t *testing.T) {
	h, _, err := newHandler(io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range 50 {
				_, fast := get(h, fmt.Sprintf("/blockcall/%d/1", 20+i))
				if _, cgo := get(h, fmt.Sprintf("/cgo/%d/1", 20+i)); cgo != fast {
					t.Errorf("cgo %s, fastc %s", cgo, fast)
				}
			}
		})
	}
	clients.Wait()
}
