package httpd_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestNobodyWaitsInTheMidst: while many requests compute, one that has begun does not wait until all others have ended, as it would if the
// scheduler took the processor from it.
func TestNobodyWaitsInTheMidst(t *testing.T) {
	const conns = 96
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	onEach(t, func(t *testing.T, b aio.Backend) {
		var ended, most atomic.Int64
		addr := serve(t, b, &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			before := ended.Load()
			for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			}
			most.Store(max(most.Load(), ended.Load()-before))
			ended.Add(1)
		})})
		var all []net.Conn
		for range conns {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			all = append(all, c)
		}
		const tries = 8 // a busy machine may take the processor from all of them for longer than a slice
		for try := 1; ; try++ {
			most.Store(0)
			for _, c := range all {
				if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range all {
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
			}
			if most.Load() <= conns/8 {
				return
			}
			if try == tries {
				t.Fatalf("%d requests ended while another one was in the midst", most.Load())
			}
		}
	})
}
