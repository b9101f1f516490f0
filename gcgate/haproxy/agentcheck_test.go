package haproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/internal/polled"
	"evenkeel.dev/internal/leaks"
)

// The gate looks for these by type.
var (
	_ gcgate.Signal    = (*AgentCheck)(nil)
	_ gcgate.Attacher  = (*AgentCheck)(nil)
	_ gcgate.Checker   = (*AgentCheck)(nil)
	_ gcgate.Confirmer = (*AgentCheck)(nil)
	_ gcgate.Explainer = (*AgentCheck)(nil)
	_ gcgate.Validator = (*AgentCheck)(nil)
)

// serveAgent runs a on a free port of loopback, and ends it with the test.
func serveAgent(t *testing.T, a *AgentCheck) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- a.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve: %v, want %v", err, net.ErrClosed)
		}
	})
	return l.Addr().String()
}

// pollAgent asks an agent as HAProxy does, and returns its answer.
func pollAgent(t *testing.T, addr, send string) string {
	t.Helper()
	got, err := poll(addr, send)
	if err != nil {
		t.Errorf("%v after %q", err, got)
	}
	return got
}

// pollAnswered is pollAgent until there is an answer: there is none, or a reset, where it took this
// machine longer than agentTimeout.
func pollAnswered(t *testing.T, addr, send string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		got, err := poll(addr, send)
		if got != "" && err == nil {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("%q, %v after a minute", got, err)
		}
	}
}

func poll(addr, send string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if send != "" {
		io.WriteString(conn, send)
	}
	b, err := io.ReadAll(conn)
	return string(b), err
}

// keep calls f every 5 ms in a goroutine until the test ends.
func keep(t *testing.T, f func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			f()
			time.Sleep(5 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// TestSignalsNeedTheTurn: HAProxy has no server to send to when all servers are drained.
func TestSignalsNeedTheTurn(t *testing.T) {
	for _, s := range []gcgate.Signal{&AgentCheck{}, &RuntimeAPI{}} {
		if d, ok := s.(gcgate.Describer); ok && d.Describe().SafeWithoutTurn {
			t.Errorf("%T says that it is safe without the turn", s)
		}
	}
}

func TestAgentCheckTellsWhoAsks(t *testing.T) {
	leaks.Test(t)
	var a AgentCheck
	addr := serveAgent(t, &a)
	var mu sync.Mutex
	var last string
	keep(t, func() {
		s := pollAgent(t, addr, "")
		mu.Lock()
		defer mu.Unlock()
		if s != "" { // else it took this machine longer than agentTimeout
			last = s
		}
	})
	if err := a.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, state := range []struct {
			do   func(context.Context) error
			word string
		}{
			{func(ctx context.Context) error { return a.Drain(ctx, time.Second) }, "drain\n"},
			{a.Ready, "ready up\n"},
		} {
			if err := errors.Join(state.do(t.Context()), state.do(t.Context())); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if last != state.word {
				t.Errorf("the last answer is %q, want %q", last, state.word)
			}
			mu.Unlock()
		}
	}
}

func TestAgentCheckAnswersWhatever(t *testing.T) {
	leaks.Test(t)
	var a AgentCheck
	addr := serveAgent(t, &a)
	for _, send := range []string{"", "be/a\n", strings.Repeat("x", agentInput)} {
		if got := pollAnswered(t, addr, send); got != agentReady {
			t.Errorf("got %q after %.10q", got, send)
		}
	}
}

func TestAgentCheckWithoutPollsNamesTheLineToAdd(t *testing.T) {
	var a AgentCheck
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for _, err := range []error{a.Check(ctx), a.Drain(ctx, time.Second), a.CanConfirm(time.Second)} {
		if !errors.Is(err, polled.ErrNoPolls) || !strings.Contains(err.Error(), "agent-check agent-port") {
			t.Errorf("got %v, want the line to add", err)
		}
	}
	if err := a.Ready(ctx); err != nil {
		t.Errorf("Ready, where no peer was asked to drain: %v", err)
	}
}

// addrConn is a connection that says where it comes from.
type addrConn struct {
	net.Conn
	local, remote net.Addr
}

func (c addrConn) LocalAddr() net.Addr  { return c.local }
func (c addrConn) RemoteAddr() net.Addr { return c.remote }

// connListener accepts the connections that it is sent.
type connListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *connListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *connListener) Addr() net.Addr { return new(net.TCPAddr) }

// fullListener has no descriptors left for some calls, and then accepts one connection before it is
// closed.
type fullListener struct {
	connListener
	left int
	err  error
}

func (l *fullListener) Accept() (net.Conn, error) {
	switch l.left--; {
	case l.left == -1:
		conn, peer := net.Pipe()
		return conn, peer.Close()
	case l.left < -1:
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Err: l.err}
}

// TestAgentCheckOutlastsWantOfDescriptors: an agent that ended would leave HAProxy with what it was
// got last, for good.
func TestAgentCheckOutlastsWantOfDescriptors(t *testing.T) {
	for want, kind := range map[error]error{
		net.ErrClosed:    os.NewSyscallError("accept4", syscall.EMFILE),
		io.ErrNoProgress: io.ErrNoProgress,
	} {
		synctest.Test(t, func(t *testing.T) {
			var logged bytes.Buffer
			a := &AgentCheck{}
			a.access.Log.Store(slog.New(slog.NewTextHandler(&logged, nil)))
			l := &fullListener{
				connListener: connListener{closed: make(chan struct{})},
				left:         10 * acceptRetry, err: kind,
			}
			err, log := a.Serve(l), logged.String()
			over := kind != io.ErrNoProgress // which ends Serve
			if !errors.Is(err, want) || strings.Count(log, "cannot accept") != 1 ||
				strings.Contains(log, "accepts connections again") != over {
				t.Errorf("%v: ended by %v, and the log says %q", kind, err, log)
			}
		})
	}
}

// TestAgentCheckRefusesNegatives: Serve does, and the gate's first call, and no drain begins.
func TestAgentCheckRefusesNegatives(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &AgentCheck{Pollers: -1}
	for call, err := range map[string]error{
		"Serve": a.Serve(l), "Check": a.Check(t.Context()), "Drain": a.Drain(t.Context(), time.Second),
		"Ready":      a.Ready(t.Context()),
		"CanConfirm": a.CanConfirm(time.Second),
	} {
		if oe, ok := errors.AsType[*evenkeel.OptionError](err); !ok || oe.Option != "Pollers" ||
			!strings.HasPrefix(err.Error(), "haproxy.AgentCheck.Pollers: -1") {
			t.Errorf("%s returned %v", call, err)
		}
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Serve: %v", err)
	}
}

// TestAgentCheckRefusesOtherAddresses has a clock of its own: over a pipe an answer waits for its
// reader, and agentTimeout at most.
func TestAgentCheckRefusesOtherAddresses(t *testing.T) {
	leaks.Test(t)
	synctest.Test(t, refusesOtherAddresses)
}

func refusesOtherAddresses(t *testing.T) {
	tcp := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	tests := []struct {
		remote  net.Addr
		network string
		want    string
	}{
		{tcp("127.0.0.1:1"), "tcp", agentReady},
		{tcp("[::1]:1"), "tcp", agentReady},
		{tcp("[::ffff:127.0.0.1]:1"), "tcp", agentReady},
		{tcp("10.1.2.3:1"), "tcp", agentReady},
		{tcp("[::ffff:10.1.2.3]:1"), "tcp", agentReady},
		{tcp("10.2.2.3:1"), "tcp", ""},
		{tcp("[fe80::1%eth0]:1"), "tcp", ""},
		{&net.UnixAddr{Name: "", Net: "unix"}, "tcp", ""},
		{&net.UnixAddr{Name: "", Net: "unix"}, "unix", agentReady},
	}
	var log bytes.Buffer
	a := AgentCheck{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	a.access.Log.Store(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	l := &connListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan error)
	go func() { served <- a.Serve(l) }()
	var refused uint64
	for _, tt := range tests {
		ours, theirs := net.Pipe()
		var local net.Addr = &net.TCPAddr{}
		if tt.network == "unix" {
			local = &net.UnixAddr{Net: "unix"}
		}
		l.conns <- addrConn{theirs, local, tt.remote}
		if tt.want == "" {
			refused++
		}
		got := make([]byte, len(tt.want))
		if _, err := io.ReadFull(ours, got); err != nil || string(got) != tt.want {
			t.Errorf("%v over %s got %q, %v; want %q", tt.remote, tt.network, got, err, tt.want)
		}
		ours.Close()
	}
	l.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	if a.access.Refused() != refused || strings.Count(log.String(), "refused a poll") != 1 {
		t.Errorf("counted %d refused, want %d, logged once:\n%s", a.access.Refused(), refused, &log)
	}
}

func TestAgentCheckBoundsConnectionsAndTheirTime(t *testing.T) {
	leaks.Test(t)
	var a AgentCheck
	addr := serveAgent(t, &a)
	start := time.Now()
	for range 2 * agentConns { // they ask, and then neither read nor close
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if got := pollAnswered(t, addr, ""); got != agentReady {
		t.Errorf("got %q", got)
	}
	if d := time.Since(start); d < agentTimeout {
		t.Errorf("the %dth connection was answered after %v: nothing bounds them", 2*agentConns+1, d)
	}
}

// fuzzConn gives in to read and keeps what is written.
type fuzzConn struct {
	net.Conn
	in     bytes.Reader
	out    bytes.Buffer
	closed int
}

func (c *fuzzConn) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *fuzzConn) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c *fuzzConn) Close() error                { c.closed++; return nil }
func (c *fuzzConn) SetDeadline(time.Time) error { return nil }

// FuzzAgentCheckInput: whatever a peer sends, it gets the exact word, and is not read without
// bound.
func FuzzAgentCheckInput(f *testing.F) {
	f.Add([]byte(nil), false)
	f.Add([]byte("be/a\n"), true)
	f.Add(bytes.Repeat([]byte("ready up\n"), 1000), true)
	f.Fuzz(func(t *testing.T, in []byte, draining bool) {
		var a AgentCheck
		if draining {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			a.Drain(ended, time.Second) // nobody polls: it answers so from now on
		}
		conn := new(fuzzConn)
		conn.in.Reset(in)
		a.answer(conn, netip.MustParseAddr("127.0.0.1"))
		want := agentReady
		if draining {
			want = agentDrain
		}
		if got := conn.out.String(); got != want {
			t.Errorf("answered %q, want %q", got, want)
		}
		if read := len(in) - conn.in.Len(); read > agentInput || conn.closed != 1 {
			t.Errorf("read %d bytes, closed %d times", read, conn.closed)
		}
	})
}

// TestAgentCheckLogsToTheGate that it is attached to.
func TestAgentCheckLogsToTheGate(t *testing.T) {
	var log bytes.Buffer
	a := &AgentCheck{}
	heap := gcgatetest.NewHeap()
	heap.Rate = 1 // it never collects
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Signals: []gcgate.Signal{a}, DisableTurns: true, Collector: heap,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.access.Admit("tcp", "192.0.2.1:1", nil, &agentAdvice)
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "refused a poll") != 1 {
		t.Errorf("the log does not say once that a poll was refused:\n%s", log.String())
	}
}
