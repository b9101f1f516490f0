package httpd_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"

	"evenkeel.dev/aio"
)

// TestHijackWithoutDescriptors: where the connection cannot be had from aio, Hijack gives one that works nevertheless.
func TestHijackWithoutDescriptors(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var limit syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
			few := limit
			few.Cur = 3 // all below are taken
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
				t.Error(err)
			}
			nc, rw, err := w.(http.Hijacker).Hijack()
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				line, err := rw.ReadString('\n')
				fmt.Fprintf(nc, "%T %q %v\n", nc, line, err)
			}
			nc.Close()
		})
		c := dial(t, serve(t, b, &http.Server{Handler: h}))
		r := bufio.NewReader(c)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\nline 0\n")
		for i := range 3 {
			if got, err := r.ReadString('\n'); got != fmt.Sprintf("*httpd.worker %q <nil>\n",
				fmt.Sprintf("line %d\n", i)) {
				t.Fatalf("%q, %v", got, err)
			}
			fmt.Fprintf(c, "line %d\n", i+1)
		}
		if got, err := io.ReadAll(r); len(got) > 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
}
