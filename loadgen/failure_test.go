package loadgen

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// refusedAddr is an address that nobody listens at: no system gives port 1 to anybody.
const refusedAddr = "127.0.0.1:1"

// Each way to fail has its class, in both loops and over both clients.
func TestFailures(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	// say sends a text once it has read a request, and closes.
	say := func(text string) string {
		return serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
			if skipRequest(br) {
				io.WriteString(c, text)
			}
		})
	}
	// greet sends a text as soon as there is anything to read, and closes.
	greet := func(text string) string {
		return serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
			_, _ = br.Peek(1)
			br.Discard(br.Buffered()) // else the close would be a reset
			io.WriteString(c, text)
		})
	}
	reset := serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
		skipRequest(br)
		_ = c.SetLinger(0)
	})
	hang := serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) { io.Copy(io.Discard, br) })
	for _, c := range []struct {
		name, url string
		want      Class
		transport Class // of net/http, whose errors have less to tell
	}{
		{"dns", "http://no-such-host.invalid/", ClassDNS, ClassDNS},
		{"refused", "http://" + refusedAddr, ClassRefused, ClassRefused},
		{"unreachable", "http://[fe80::1%25nosuchif]:80/", ClassConnect, ClassConnect},
		{"reset", "http://" + reset, ClassReset, ClassReset},
		{"closed at once", "http://" + say(""), ClassClosed, ClassClosed},
		{"closed in the head", "http://" + say("HTTP/1.1 200 OK\r\nContent-"), ClassClosed, ""},
		{"closed in the body", "http://" + say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), ClassClosed, ClassClosed},
		{"closed in a chunk", "http://" + say(chunkedHead+"3\r\nab"), ClassClosed, ClassClosed},
		{"malformed", "http://" + say("hello\r\n"), ClassProtocol, ClassOther},
		{"not TLS", "https://" + greet("hello\r\nhello\r\n\r\n"), ClassTLS, ""},
		{"closed in the handshake", "https://" + greet(""), ClassTLS, ""},
		{"timeout", "http://" + hang, ClassTimeout, ClassTimeout},
		{"timeout in the body", "http://" + serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
			skipRequest(br)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab")
			io.Copy(io.Discard, br)
		}), ClassTimeout, ClassTimeout},
		{"timeout in the handshake", "https://" + hang, ClassTimeout, ClassTimeout},
	} {
		for _, o := range []Options{{}, {Rate: 500}, {Transport: &http.Transport{}}, {Rate: 500, Transport: &http.Transport{}}} {
			want := c.want
			if tr, ok := o.Transport.(*http.Transport); ok {
				defer tr.CloseIdleConnections()
				want = c.transport
			}
			if want == "" {
				continue
			}
			o.Targets = []Target{{URL: c.url}}
			o.Requests, o.Connections, o.Timeout = 4, 2, patience
			if c.want == ClassTimeout {
				o.Timeout, o.Connections = 60*time.Millisecond, 4
			}
			r := run(t, o)
			if r.Answered != 0 || class(r, want) != 4 {
				t.Errorf("%s, rate %v, transport %v: %d answered, %+v; want 4 of %s", c.name, o.Rate, o.Transport != nil, r.Answered, r.Failures, want)
			}
			if len(r.Failures) > 0 && r.Failures[0].Example == "" {
				t.Errorf("%s: no example", c.name)
			}
			if want == ClassTimeout && (r.Latency.Count() != 4 || r.Latency.Quantile(0) < 59*time.Millisecond) {
				t.Errorf("%s: time-outs are not in the histogram: %d, from %v", c.name, r.Latency.Count(), r.Latency.Quantile(0))
			}
		}
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Class
	}{
		{&net.DNSError{IsTimeout: true}, ClassDNS},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), ClassTimeout},
		{dialError{context.DeadlineExceeded, ClassTLS}, ClassTimeout},
		{dialError{syscall.ECONNREFUSED, ClassConnect}, ClassRefused},
		{dialError{syscall.ECONNRESET, ClassTLS}, ClassTLS},
		{dialError{syscall.ENETUNREACH, ClassConnect}, ClassConnect},
		{&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, ClassConnect},
		{fmt.Errorf("remote: %w", tls.AlertError(40)), ClassTLS},
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, ClassReset},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, ClassReset},
		{io.ErrUnexpectedEOF, ClassClosed},
		{fmt.Errorf("%w: x", errProtocol), ClassProtocol},
		{errUnsent, ClassUnsent},
		{errors.New("what?"), ClassOther},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// TestGeneratorFailures: what this machine refuses is not the service's doing, whatever wraps it.
func TestGeneratorFailures(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		op := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}
		for _, err := range []error{dialError{op, ClassConnect}, op, &net.DNSError{UnwrapErr: op}} {
			if c := classify(err); c != ClassGenerator {
				t.Errorf("%v is of class %s", err, c)
			}
		}
	}
	r := Result{Failures: []Failure{{Class: ClassReset, Count: 2}, {Class: ClassGenerator, Count: 1}}}
	if r.FailedBy(ClassGenerator) != 1 || r.FailedBy(ClassReset) != 2 || r.FailedBy(ClassDNS) != 0 {
		t.Errorf("%+v", r)
	}
}
