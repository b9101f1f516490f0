package httpd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// clog has a handler write until the socket takes nothing any more, as the client reads nothing,
// and some of it is queued. It returns how much it wrote, and false where its time was over before.
func clog(srv *http.Server, w io.Writer) (n int, ok bool) {
	for before := int64(-1); ; {
		queued := httpd.StatsOf(srv).QueuedBytes
		switch {
		case queued < 128<<10: // from 256 KiB on a Write waits
			k, err := w.Write(bytes.Repeat([]byte{'a'}, 3<<10))
			if err != nil {
				return n, false
			}
			n += k
		case queued == before:
			return n, true
		default:
			before = queued
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// slowly dials, and has the kernel keep little of what it does not read.
func slowly(t *testing.T, addr string) net.Conn {
	t.Helper()
	c := dial(t, addr)
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRollingWriteDeadline: what a Write has left to be sent is not cut off by its deadline, once
// the handler has given itself more time or all there is.
func TestRollingWriteDeadline(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	for name, more := range map[string]time.Duration{"later": patience, "none": 0} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b aio.Backend) {
				for short, late := 400*time.Millisecond, true; late; short *= 2 {
					// again where a busy machine has used it up before
					srv := &http.Server{}
					passed, wrote := make(chan time.Time, 1), 0
					srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						rc := http.NewResponseController(w)
						end := time.Now().Add(short)
						_ = rc.SetWriteDeadline(end)
						wrote, _ = clog(srv, w)
						then := time.Time{}
						if more > 0 {
							then = time.Now().Add(more)
						}
						_ = rc.SetWriteDeadline(then)
						late = !time.Now().Before(end)
						passed <- end
						<-time.After(time.Until(end) + 100*time.Millisecond) // the client reads nothing meanwhile
					})
					c := dial(t, serveOn(t, b, srv, narrow(t)))
					io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
					time.Sleep(time.Until(<-passed) + 50*time.Millisecond)
					all, err := io.ReadAll(c)
					if n := bytes.Count(all, []byte("aaaaaaaa")) * 8; !late && (err != nil || n != wrote) {
						t.Errorf("%d bytes of %d came, %v", n, wrote, err)
					}
				}
			})
		})
	}
}

// TestRollingWriteDeadlineOfParked: so it is for who has hijacked the connection, and whose handler has returned.
func TestRollingWriteDeadlineOfParked(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		for short, late := 400*time.Millisecond, true; late; short *= 2 {
			// again where a busy machine has used it up before
			srv := &http.Server{}
			taken, passed, wrote := make(chan *httpd.Conn), make(chan time.Time, 1), 0
			srv.Handler = parking(t, func(c *httpd.Conn) {
				go func() {
					c := <-taken
					end := time.Now().Add(short)
					_ = c.SetWriteDeadline(end)
					wrote, _ = clog(srv, c)
					_ = c.SetWriteDeadline(time.Time{})
					late = !time.Now().Before(end)
					passed <- end
					<-time.After(time.Until(end) + 100*time.Millisecond) // the client reads nothing meanwhile
					_ = c.Close()
				}()
				go func() { taken <- c }()
			})
			c := slowly(t, serveOn(t, b, srv, narrow(t)))
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			time.Sleep(time.Until(<-passed) + 50*time.Millisecond)
			_ = c.(*net.TCPConn).SetReadBuffer(1 << 20)
			all, err := io.ReadAll(c)
			if !late && (err != nil || len(all) != wrote) {
				t.Errorf("%d bytes of %d came, %v", len(all), wrote, err)
			}
		}
	})
}

// TestNothingBehindWhatWasCut: where the time of an answer is over while a part of it is queued,
// nothing of the next one is sent in its place.
func TestNothingBehindWhatWasCut(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		for limit, late := 500*time.Millisecond, true; late; limit *= 2 {
			// again where a busy machine has used it up before
			srv, m := &http.Server{WriteTimeout: limit}, http.NewServeMux()
			first, goOn := make(chan bool), make(chan bool)
			m.HandleFunc("/first", func(w http.ResponseWriter, _ *http.Request) {
				_, ok := clog(srv, w)
				first <- ok
			})
			m.HandleFunc("/second", func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, strings.Repeat("b", 5000)) // some of it is sent at once
			})
			m.HandleFunc("/third", func(http.ResponseWriter, *http.Request) { <-goOn })
			srv.Handler = m
			c := dial(t, serveOn(t, b, srv, narrow(t)))
			io.WriteString(c, "GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
			if late = !<-first; !late {
				time.Sleep(limit / 2)
				io.WriteString(c, "GET /second HTTP/1.1\r\nHost: x\r\n\r\nGET /third HTTP/1.1\r\nHost: x\r\n\r\n")
				time.Sleep(limit * 7 / 10) // the time of the first is over, and that of the second is not
				c.SetReadDeadline(time.Now().Add(limit / 2))
				all, _ := io.ReadAll(c)
				if i := bytes.LastIndex(all, []byte("HTTP/1.1 200")); i > 0 &&
					!bytes.HasSuffix(all[:i], []byte("\r\n0\r\n\r\n")) {
					t.Errorf("of %d bytes, the second answer's come behind %d, in the midst of the first", len(all), i)
				}
			}
			close(goOn)
		}
	})
}

// TestStalledWritesAreCounted: after clients that take nothing, nothing is queued, nor less than that.
func TestStalledWritesAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for limit, late := 500*time.Millisecond, true; late; limit *= 2 {
			// again where a busy machine has used it up before
			srv, ended := &http.Server{WriteTimeout: limit}, make(chan error)
			srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, ok := clog(srv, w)
				late = !ok
				_, err := w.Write(make([]byte, 40<<10)) // waits behind that
				ended <- err
			})
			c := slowly(t, serveOn(t, b, srv, narrow(t)))
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if err := <-ended; err == nil {
				t.Error("the long Write does not fail")
			}
			s := until(t, srv, "its end", func(s httpd.Stats) bool { return s.Conns == 0 })
			if s.QueuedBytes != 0 {
				t.Fatalf("%d bytes are queued", s.QueuedBytes)
			}
			if !late && s.Unsent != 1 {
				t.Errorf("%d of 1 counts as not sent", s.Unsent)
			}
		}
	})
}

// TestHijackedWritesAreWhole: on a connection that was taken over with a request that has a body,
// Writes of several goroutines do not come in pieces.
func TestHijackedWritesAreWhole(t *testing.T) {
	const each, writers, size = 20, 4, 200 << 10
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			var writing sync.WaitGroup
			for i := range writers {
				writing.Go(func() {
					for range each {
						if _, err := c.Write(bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			writing.Wait()
		})}
		c := dial(t, serve(t, b, srv))
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
		r, got := bufio.NewReader(c), make([]byte, size)
		for n := range each * writers {
			if _, err := io.ReadFull(r, got); err != nil {
				t.Fatalf("after %d Writes: %v", n, err)
			}
			if bytes.Count(got, got[:1]) != size {
				t.Fatalf("Write %d came in pieces", n)
			}
		}
	})
}

// TestListenerMadeBlocking: os.File.Fd, of a duplicate of the listener, ends the non-blocking mode of both.
func TestListenerMadeBlocking(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := serveOn(t, b, &http.Server{Handler: mux()}, ln)
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for range 3 {
			_ = f.Fd()
			bystander(t, addr) // and the next, on a connection of its own: the loop goes on
		}
	})
}

// TestSlowClientGetsAll: what is queued when a connection ends is sent for as long as the client takes some of it.
func TestSlowClientGetsAll(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		limit, again := 2*time.Second, true
		for ; again && limit < patience; limit *= 2 { // again where it was taken too slowly, on a busy machine
			t.Run(limit.String(), func(t *testing.T) { again = slowClient(t, b, limit) })
		}
		if again {
			t.Error("nothing of what is queued was taken in time, whatever that was")
		}
	})
}

// slowClient has a client take all of an answer, slowly. It reports whether it has not got all of
// it, as for longer than limit nothing of what is queued was taken.
func slowClient(t *testing.T, b aio.Backend, limit time.Duration) (again bool) {
	const size = 144 << 10 // nothing waits: 256 KiB may be queued
	httpd.SetFlushLimit(t, limit)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range size / (3 << 10) {
			_, _ = w.Write(make([]byte, 3<<10))
		}
	})}
	c := slowly(t, serveOn(t, b, srv, narrow(t)))
	c.SetDeadline(time.Now().Add(2*limit + patience))
	begun := time.Now()
	io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	// taken: not later than some of it was, the last time
	queued, taken, looked, stood := int64(0), begun, begun, time.Duration(0)
	for n, piece, slow := 0, make([]byte, 4<<10), true; ; {
		k, err := c.Read(piece)
		n += bytes.Count(piece[:k], []byte{0})
		now, q := time.Now(), httpd.StatsOf(srv).QueuedBytes
		if q > 0 || queued > 0 {
			stood = max(stood, time.Since(taken))
		}
		if q != queued {
			queued, taken = q, looked
		}
		looked = now
		switch {
		case err == io.EOF && n == size:
			return false
		case err != nil && stood >= limit:
			return true
		case err != nil:
			t.Errorf("%d bytes of %d, %v; for %v nothing of what is queued was taken", n, size, err, stood)
			return false
		}
		if slow = slow && time.Since(begun) < limit+limit/2; slow {
			time.Sleep(limit / 20)
		}
	}
}

// TestNothingBehindALateWrite: a Write that is too late fails all that follow, also where the
// handler gives itself more time.
func TestNothingBehindALateWrite(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		wrote := make(chan error, 1)
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			rc := http.NewResponseController(w)
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(make([]byte, 2000)) // some is in the first buffer
			_ = rc.Flush()
			_, _ = w.Write(make([]byte, 1000))
			_ = rc.SetWriteDeadline(time.Now().Add(-time.Second))
			_, _ = io.WriteString(w, strings.Repeat("b", 9000))
			_ = rc.SetWriteDeadline(time.Now().Add(patience))
			_, err := w.Write(bytes.Repeat([]byte{'c'}, 20000))
			wrote <- err
		})
		c := dial(t, serveOn(t, b, &http.Server{Handler: h}, narrow(t)))
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		all, _ := io.ReadAll(c)
		if n := bytes.Count(all, []byte("cc")); n > 0 {
			t.Errorf("%d bytes came behind those of a Write that was too late", 2*n)
		}
		if err := <-wrote; err == nil {
			t.Error("a Write behind one that was too late says nothing")
		}
	})
}
