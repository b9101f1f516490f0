package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

func protocols(names ...func(*http.Protocols, bool)) *http.Protocols {
	var p http.Protocols
	for _, set := range names {
		set(&p, true)
	}
	return &p
}

// unencrypted returns a client of HTTP/2 without TLS.
func unencrypted(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Client {
	tr := &http.Transport{DialContext: dial, Protocols: protocols((*http.Protocols).SetUnencryptedHTTP2)}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// TestUnencryptedHTTP2: it is served beside HTTP/1, also when its first bytes come one by one;
// states are told, and it ends by Shutdown.
func TestUnencryptedHTTP2(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		var mu sync.Mutex
		told := map[string][]string{}
		ended := make(chan string, 99)
		type key struct{}
		srv := &http.Server{
			Handler:   mux(),
			Protocols: protocols((*http.Protocols).SetUnencryptedHTTP2, (*http.Protocols).SetHTTP1),
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, key{}, c.RemoteAddr())
			},
			ConnState: func(c net.Conn, to http.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				from := c.RemoteAddr().String()
				told[from] = append(told[from], to.String())
				if to == http.StateClosed {
					ended <- from
				}
			},
		}
		srv.Handler.(*http.ServeMux).HandleFunc("/proto", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Proto, " ", r.TLS == nil, " ", r.Context().Value(key{}).(net.Addr).String() == r.RemoteAddr,
				" ", r.RemoteAddr)
		})
		addr := serve(t, b, srv)
		first := dial(t, addr)
		r := bufio.NewReader(first)
		get(t, first, r, "/hello") // its worker is one that has served HTTP/1
		inPieces := func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &pieces{c}, err
		}
		var from []string
		for _, client := range []*http.Client{unencrypted(t, nil), unencrypted(t, inPieces)} {
			var asking sync.WaitGroup
			for range 5 {
				asking.Go(func() {
					res, err := client.Post("http://"+addr+"/echo", "",
						strings.NewReader(strings.Repeat("to and fro ", 3_000)))
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(res.Body)
					res.Body.Close()
					if len(got) != 33_000 || err != nil {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			}
			asking.Wait()
			res, err := client.Get("http://" + addr + "/proto")
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			res.Body.Close()
			remote, ok := strings.CutPrefix(string(got), "HTTP/2.0 true true ")
			if !ok {
				t.Errorf("%q", got)
			}
			from = append(from, remote)
			if got := get(t, first, r, "/proto"); !strings.HasPrefix(got, "HTTP/1.1 true true ") {
				t.Errorf("%q", got)
			}
		}
		first.Close()
		down := make(chan error, 1)
		go func() { down <- srv.Shutdown(t.Context()) }()
		if err := wait(t, down, "Shutdown"); err != nil {
			t.Error(err)
		}
		for range 3 {
			wait(t, ended, "a connection's end")
		}
		mu.Lock()
		defer mu.Unlock()
		for _, from := range from {
			got := strings.Join(told[from], " ")
			if !strings.HasPrefix(got, "new active idle active") || !strings.HasSuffix(got, "closed") ||
				strings.Count(got, "new")+strings.Count(got, "closed") != 2 {
				t.Errorf("%s", got)
			}
		}
	})
}

// TestHijackOfWhatBeganAsHTTP2: where HTTP/2 is served without TLS, a request whose first bytes may
// begin that can be hijacked as any other, and nothing waits for its connection any more.
func TestHijackOfWhatBeganAsHTTP2(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		given, taken := make(chan bool, 1), make(chan net.Conn, 1)
		srv := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				nc, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
				}
				taken <- nc
			}),
			Protocols: protocols((*http.Protocols).SetUnencryptedHTTP2, (*http.Protocols).SetHTTP1),
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
				given <- true
				return ctx
			},
		}
		told := noting(srv)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := begin(t, httpd.Options{Backend: b}, srv, ln)
		c := dial(t, ln.Addr().String())
		io.WriteString(c, "P")
		wait(t, given, "ConnContext") // net/http has it
		io.WriteString(c, "OST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
		nc := wait(t, taken, "the handler")
		told.await(t, c, "new", "active", "hijacked")
		until(t, srv, "it is hijacked", func(s httpd.Stats) bool { return s.Conns == 1 && s.Hijacked == 1 })
		down := make(chan error, 1)
		go func() { down <- srv.Shutdown(context.Background()) }()
		if err := wait(t, down, "Shutdown's end"); err != nil {
			t.Error(err)
		}
		if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
			t.Error(err)
		}
		io.WriteString(nc, "it outlives the server")
		nc.Close()
		if got, err := io.ReadAll(c); string(got) != "it outlives the server" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestUnencryptedHTTP2Only: HTTP/1 has no answer there, as in net/http; and who begins and says no
// more is closed in time.
func TestUnencryptedHTTP2Only(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{
			Handler: mux(), Protocols: protocols((*http.Protocols).SetUnencryptedHTTP2),
			ReadHeaderTimeout: 300 * time.Millisecond,
		})
		var reading sync.WaitGroup
		for _, first := range []string{
			"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", "P", "PRI", "PRI * HTTP/2.0\r\n",
			"POST / HTTP/1.1\r\n",
		} {
			c := dial(t, addr)
			io.WriteString(c, first)
			reading.Go(func() {
				if got, err := io.ReadAll(c); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%q: %q, %v", first, got, err)
				}
			})
		}
		reading.Wait()
		client := unencrypted(t, nil)
		res, err := client.Get("http://" + addr + "/hello?n=2")
		for until := time.Now().Add(patience); err != nil && time.Now().Before(until); {
			// on a busy machine its time may have been over
			res, err = client.Get("http://" + addr + "/hello?n=2")
		}
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(got) != "hello 2" {
			t.Errorf("%q", got)
		}
	})
}

// TestPrefaceInTLS: where TLS has not agreed on HTTP/2 it is not served, as in net/http.
func TestPrefaceInTLS(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		server := func() *http.Server {
			return &http.Server{
				Handler: mux(),
				Protocols: protocols((*http.Protocols).SetUnencryptedHTTP2, (*http.Protocols).SetHTTP1,
					(*http.Protocols).SetHTTP2),
			}
		}
		plain := httptest.NewUnstartedServer(nil)
		plain.Config = server()
		plain.StartTLS()
		defer plain.Close()
		addr, client := secured(t, b, server())
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		var got [2][]byte
		for i, addr := range []string{addr, plain.Listener.Addr().String()} {
			c := tls.Client(dial(t, addr), config)
			io.WriteString(c, preface)
			got[i], _ = io.ReadAll(c)
		}
		own, _, _ := bytes.Cut(got[0], []byte("\r\n"))
		theirs, _, _ := bytes.Cut(got[1], []byte("\r\n"))
		if !bytes.Equal(own, theirs) || len(own) == 0 {
			t.Errorf("%q, net/http says %q", got[0], got[1])
		}
	})
}

// TestHTTP2: where HTTP/2 is agreed it is served, and where it is switched off it is not.
func TestHTTP2(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/proto", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Proto, " ",
				r.TLS.NegotiatedProtocol)
		})
		for want, srv := range map[string]*http.Server{
			"HTTP/2.0 h2":       {Handler: m},
			"HTTP/1.1 http/1.1": {Handler: m, TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}},
		} {
			addr, client := secured(t, b, srv)
			for range 3 {
				res, err := client.Get("https://" + addr + "/proto")
				if err != nil {
					t.Fatal(err)
				}
				got, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if string(got) != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
		}
	})
}

// TestHTTP2Off: as with net/http, GODEBUG switches HTTP/2 off.
func TestHTTP2Off(t *testing.T) {
	t.Setenv("GODEBUG", "http2server=0")
	addr, client := secured(t, aio.BackendAuto, &http.Server{Handler: mux()})
	resp, err := client.Get("https://" + addr + "/hello")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ProtoMajor != 1 {
		t.Errorf("%s was spoken", resp.Proto)
	}
}
