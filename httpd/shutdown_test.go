package httpd_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"evenkeel.dev/aio"
)

const queued = 240 << 10 // bytes of an answer, for which no Write waits

func fill(w http.ResponseWriter) {
	for range queued >> 10 {
		w.Write(make([]byte, 1<<10))
	}
	http.NewResponseController(w).Flush()
}

// TestShutdownSends: Shutdown returns when answers are with the kernel, though their handlers have
// ended long before: of a connection that is kept alive, of one that is not, and of a request that
// goes on meanwhile.
func TestShutdownSends(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, answered, release := mux(), make(chan bool), make(chan bool)
		m.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("late") != "" {
				answered <- true
				<-release
			}
			fill(w)
			if r.FormValue("late") == "" {
				answered <- true
			}
		})
		srv := &http.Server{Handler: m}
		ln := narrow(t)
		ended := begin(t, b, srv, ln)
		var clients []net.Conn
		for _, request := range []string{
			"GET /answer HTTP/1.1\r\nHost: x\r\n",
			"GET /answer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", "GET /answer?late=1 HTTP/1.1\r\nHost: x\r\n",
		} {
			c := dial(t, ln.Addr().String())
			fmt.Fprintf(c, "%s\r\n", request)
			<-answered
			clients = append(clients, c)
		}
		down := make(chan error, 1)
		go func() { down <- srv.Shutdown(context.Background()) }()
		serveEnds(t, ln.Addr().String())
		close(release)
		for i, c := range clients {
			select {
			case err := <-down:
				t.Fatalf("it returned, %v, with the answer of client %d not read", err, i)
			default:
			}
			if n, _ := io.Copy(io.Discard, c); n < queued {
				t.Errorf("client %d got %d bytes", i, n)
			}
		}
		if err := wait(t, down, "Shutdown's end"); err != nil {
			t.Error(err)
		}
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

// TestCloseLeaves: Close does not wait for clients that do not read, as in net/http; Serve does.
func TestCloseLeaves(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, answered := mux(), make(chan bool)
		m.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
			fill(w)
			answered <- true
		})
		srv := &http.Server{Handler: m}
		ln := narrow(t)
		ended := begin(t, b, srv, ln)
		var clients []net.Conn
		for range 50 {
			c := dial(t, ln.Addr().String())
			io.WriteString(c, "GET /answer HTTP/1.1\r\nHost: x\r\n\r\n")
			<-answered
			clients = append(clients, c)
		}
		closed := make(chan error, 1)
		go func() { closed <- srv.Close() }()
		if err := wait(t, closed, "Close's end"); err != nil {
			t.Error(err)
		}
		select {
		case <-ended:
			t.Error("Serve returned with answers that nobody has read")
		default:
		}
		for _, c := range clients {
			c.Close()
		}
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}
