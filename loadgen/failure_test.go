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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev"
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
		{
			"closed in the body", "http://" + say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), ClassClosed,
			ClassClosed,
		},
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
		for _, o := range []Options{
			{},
			{Rate: 500},
			{Transport: &http.Transport{}},
			{Rate: 500, Transport: &http.Transport{}},
		} {
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
				t.Errorf("%s, rate %v, transport %v: %d answered, %+v; want 4 of %s", c.name, o.Rate,
					o.Transport != nil, r.Answered, r.Failures, want)
			}
			if len(r.Failures) > 0 && r.Failures[0].Example == "" {
				t.Errorf("%s: no example", c.name)
			}
			if want == ClassTimeout && (r.Latency.Count() != 4 || r.Latency.Quantile(0) < 59*time.Millisecond) {
				t.Errorf("%s: time-outs are not in the histogram: %d, from %v", c.name, r.Latency.Count(),
					r.Latency.Quantile(0))
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
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS,
		syscall.ENOMEM,
	} {
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

// Each worker has one call at a time, and the numbers are those of Connections.
func TestCall(t *testing.T) {
	for _, rate := range []float64{0, 5000} {
		var busy [7]atomic.Bool
		var n atomic.Int64
		r := run(t, Options{
			Connections: len(busy), Rate: rate, Requests: 300,
			Call: func(ctx context.Context, worker int) error {
				if !busy[worker].CompareAndSwap(false, true) {
					t.Errorf("worker %d has two calls at once", worker)
				}
				defer busy[worker].Store(false)
				if _, ok := ctx.Deadline(); !ok {
					t.Error("a call without a deadline")
				}
				n.Add(1)
				time.Sleep(time.Millisecond)
				return nil
			},
		})
		if r.Answered != 300 || n.Load() != 300 || r.Failed != 0 || r.Statuses != nil || r.Targets != nil ||
			r.Connects != 0 {
			t.Errorf("rate %v: %d calls; %+v", rate, n.Load(), r)
		}
	}
}

func TestCallFails(t *testing.T) {
	odd := errors.New("odd")
	var n atomic.Int64
	r := run(t, Options{
		Rate: 1000, Requests: 40, Connections: 1, Timeout: time.Millisecond, Drain: patience,
		Call: func(ctx context.Context, _ int) error {
			switch n.Add(1) % 4 {
			case 0:
				return odd
			case 1:
				<-ctx.Done()
				return errors.New("a client's own word for it") // it is a time-out all the same
			case 2:
				return &net.OpError{Op: "read", Err: net.ErrClosed}
			}
			return nil
		},
	})
	// A call that the machine held up for 1 ms has timed out, too.
	if other, closed := class(r, ClassOther), class(r, ClassClosed); class(r, ClassTimeout) < 10 || r.Answered > 10 ||
		other > 10 || closed > 10 || r.Requests() != 40 {
		t.Errorf("answered %d, %+v", r.Answered, r.Failures)
	}
}

// Latency counts from the time due for a call, too: while one stalls, those behind it wait.
func TestCallCountsFromTheTimeDue(t *testing.T) {
	const stall = 300 * time.Millisecond
	var once sync.Once
	r := run(t, Options{Rate: 100, Requests: 60, Connections: 1, Call: func(context.Context, int) error {
		once.Do(func() { time.Sleep(stall) })
		return nil
	}})
	for _, want := range []time.Duration{300, 290, 200, 100, 50} {
		want *= time.Millisecond
		q := 1 - float64(stall-want)/float64(10*time.Millisecond)/60
		if got := r.Latency.Quantile(q); got < want-5*time.Millisecond {
			t.Errorf("quantile %v is %v, want at least %v", q, got, want)
		}
	}
}

func TestCallInterrupted(t *testing.T) {
	for _, rate := range []float64{0, 100} {
		ctx, cancel := context.WithCancel(t.Context())
		r := runContext(t, ctx, Options{Rate: rate, Connections: 2, Call: func(ctx context.Context, _ int) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}})
		if !r.Interrupted || r.Answered+r.Failed != 0 || r.Unfinished == 0 {
			t.Errorf("rate %v: %+v", rate, r)
		}
	}
}

func TestCallStandsAlone(t *testing.T) {
	call := func(context.Context, int) error { return nil }
	for _, o := range []Options{
		{Call: call, Targets: []Target{{URL: "http://h"}}},
		{Call: call, Transport: instant{}},
	} {
		var oe *evenkeel.OptionError
		if err := Check(o); !errors.As(err, &oe) || oe.Option != "Call" {
			t.Error(err)
		}
	}
}

// TestWorkerHasOneCall: at the end of the context workers go, and the number of one that has gone
// is not given to a new one while the last of them is still in its call.
func TestWorkerHasOneCall(t *testing.T) {
	const workers = 3
	var begun [workers]atomic.Int64
	var goOn [workers]chan struct{}
	for i := range goOn {
		goOn[i] = make(chan struct{})
	}
	l := newHandLoop(t, Options{Connections: workers, Rate: 1, Call: func(_ context.Context, worker int) error {
		begun[worker].Add(1)
		<-goOn[worker]
		return nil
	}})
	for range workers {
		l.release()
	}
	l.until("each has begun a call", func() bool { return begun[0].Load()*begun[1].Load()*begun[2].Load() > 0 })
	l.cancel()
	close(goOn[0])
	l.until("one has gone", func() bool { return l.senders < workers })
	l.release() // by the pacer, which has looked at the context just before
	l.until("none has come", func() bool { return l.senders == workers-1 })
	close(goOn[1])
	close(goOn[2])
	l.end()
	if n := begun[workers-1].Load(); n != 1 {
		t.Errorf("the last worker has begun %d calls", n)
	}
}
