package requests

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

const (
	clients = 4
	each    = 200 // requests of each client
	every   = 50  // of which one meets the lock while it is held

	hold = 15 * time.Millisecond // for which it is held then
	// for which it is held where the machine is so busy that requests wait as long without
	longest = time.Second
)

// traceOf returns the trace of clients that make requests of a server, which meet the lock held for
// so long.
func traceOf(t *testing.T, start server, hold time.Duration) *bytes.Buffer {
	t.Helper()
	c := &cache{hold: hold, think: hold / 15}
	client := start(t, c)
	var buf bytes.Buffer
	var calls []func() error
	for range clients {
		call := client()
		if err := call(); err != nil { // its connection is there when the trace begins
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var n atomic.Int64
	for _, call := range calls {
		all.Go(func() {
			for range each {
				if n.Add(1)%every == 0 {
					locked := make(chan bool)
					go c.refresh(locked)
					<-locked
				}
				if err := call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	trace.Stop()
	return &buf
}

// TestFound: requests are found within 1% of what the client counted, whoever serves them, and the
// planted lock is where the slowest wait.
func TestFound(t *testing.T) {
	for _, tt := range []struct {
		name    string
		server  server
		ask     string // -request
		times   int    // requests of the report for each of the client's
		class   string
		planted string
		thinks  bool // its clients do, see cache.think
	}{
		{"HTTP1", serveHTTP1, "", 1, "requests.(*cache).ServeHTTP", "requests.(*cache).get", false},
		{"HTTP2", serveHTTP2, "", 1, "requests.(*cache).ServeHTTP", "requests.(*cache).get", false},
		{"H2C", serveH2C, "", 1, "requests.(*cache).ServeHTTP", "requests.(*cache).get", false},
		{"x/net HTTP2", serveXNet, "", 1, "requests.(*cache).ServeHTTP", "requests.(*cache).get", false},
		{"x/net H2C", serveXNetH2C, "", 1, "requests.(*cache).ServeHTTP", "requests.(*cache).get", false},
		{"gRPC", serveGRPC(0), "", 1, "requests.(*health).Check", "requests.(*cache).get", false},
		{"gRPC with stream workers", serveGRPC(3), "", 1, "requests.(*health).Check", "requests.(*cache).get", false},
		{
			"fasthttp", serveFastHTTP, "fasthttp.(*Server).serveConn", 1, "requests.serveFastHTTP.func1",
			"requests.(*cache).get", false,
		},
		{
			"fasthttp's worker", serveFastHTTP, "fasthttp.(*workerPool).workerFunc", 1, "requests.serveFastHTTP.func1",
			"requests.(*cache).get", false,
		},
		{
			"websocket", serveWebsocket, "websocket.(*Conn).ReadMessage", 1, "requests.serveWebsocket.func1",
			"requests.(*cache).get", false,
		},
		{
			"websocket's handler", serveWebsocket, "requests.serveWebsocket.func1", 1, "requests.serveWebsocket.func1",
			"requests.(*cache).get", false,
		},
		{"queue", serveQueue, "requests.worker", 1, "requests.worker", "requests.(*cache).get", true},
		{"actors", serveActors, "requests.(*actor).run", 2, "requests.(*actor).run", "requests.(*cache).get", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := reqtrace.Options{}
			if tt.ask != "" {
				o.Requests = []string{tt.ask}
			}
			for d := hold; ; d *= 2 {
				r, err := reqtrace.Analyze(t.Context(), traceOf(t, tt.server, d), o)
				if err != nil {
					t.Fatal(err)
				}
				want := tt.times * clients * each
				found := r.Requests + r.CutStart + r.CutEnd
				if tt.thinks && found < want*99/100 && d <= longest { // a worker had not come back for work: longer
					continue
				}
				if found < want*99/100 || found > want*101/100 || r.Missing != nil {
					t.Errorf("%d whole requests, %d and %d cut, %q is missing; the client made %d", r.Requests,
						r.CutStart, r.CutEnd, r.Missing, want)
				}
				if u := r.Total.Share(reqtrace.CauseUnknown); u > .001 {
					t.Errorf("unknown: %.2f%%", u*100)
				}
				slow, most := r.Classes[0], r.Tail.Sites[0]
				locked := most.Cause == reqtrace.CauseLock && strings.HasPrefix(most.Site, tt.planted+" (")
				if tt.times > 1 { // who asks another one that meets the lock waits for its holder as long
					locked = locked || strings.HasPrefix(most.Holder, "requests.(*cache).refresh (")
				}
				if slow.Name == tt.class && locked {
					return
				}
				if d > longest {
					t.Fatalf("the slowest are %+v, want class %s; the slowest 1%% wait most at %+v", slow, tt.class,
						most)
				}
			}
		})
	}
}

// TestCandidates: where no request is found, the error names the function to ask for, and asking
// for it finds them.
func TestCandidates(t *testing.T) {
	for name, tt := range map[string]struct {
		server server
		want   string
		thinks bool
	}{
		"fasthttp": {serveFastHTTP, "fasthttp.(*workerPool).workerFunc", false},
		"queue":    {serveQueue, "requests.worker", true},
		"actors":   {serveActors, "requests.(*actor).run", true},
	} {
		t.Run(name, func(t *testing.T) {
			for d := hold; ; d *= 2 {
				b := traceOf(t, tt.server, d)
				_, err := reqtrace.Analyze(t.Context(), bytes.NewReader(b.Bytes()), reqtrace.Options{})
				var none *reqtrace.NoRequestsError
				if !errors.As(err, &none) ||
					!strings.Contains(err.Error()+"\n", "\n  "+tt.want+"\n") {
					t.Fatalf("%v; want %s among the candidates", err, tt.want)
				}
				r, err := reqtrace.Analyze(t.Context(), b, reqtrace.Options{Requests: []string{tt.want}})
				if err != nil {
					t.Fatal(err)
				}
				if r.Requests >= clients*each*98/100 {
					return
				}
				if !tt.thinks || d > longest { // else a worker had not come back for work: longer
					t.Fatalf("%+v", r)
				}
			}
		})
	}
}

// TestSideBySide: gRPC beside an admin server of HTTP/1; each is a class, and can be explained
// alone.
func TestSideBySide(t *testing.T) {
	both := func(t *testing.T, c *cache) func() func() error {
		calls := serveGRPC(0)(t, c)
		admin := httptest.NewServer(http.HandlerFunc(serveAdmin))
		t.Cleanup(admin.Close)
		gets := get(admin.Client(), admin.URL)
		return func() func() error {
			call, ask, n := calls(), gets(), 0
			return func() error {
				if n++; n%10 == 0 {
					return ask()
				}
				return call()
			}
		}
	}
	b := traceOf(t, both, hold)
	r, err := reqtrace.Analyze(t.Context(), bytes.NewReader(b.Bytes()), reqtrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found, want := r.Requests+r.CutStart+r.CutEnd, clients*each; found < want*99/100 || found > want*101/100 {
		t.Errorf("%d requests of %d", found, want)
	}
	alone, err := reqtrace.Analyze(t.Context(), b, reqtrace.Options{Class: "requests.serveAdmin"})
	if err != nil {
		t.Fatal(err)
	}
	if want := clients * each / 10; alone.Requests < want*98/100 || alone.Requests > want*102/100 {
		t.Errorf("%d requests of the admin server, of %d", alone.Requests, want)
	}
	planted := func(b reqtrace.Blame) bool { return strings.HasPrefix(b.Site, "requests.(*cache).get (") }
	if slices.ContainsFunc(alone.Tail.Sites, planted) { // net/http's own locks may be met
		t.Errorf("the slowest of the admin server wait at the lock of the other: %+v", alone.Tail.Sites)
	}
}

// serveAdmin answers at length, so that stacks of it are seen.
func serveAdmin(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(make([]byte, 64<<10))
}

// slowHealth answers when the test tells it to.
type slowHealth struct {
	healthpb.UnimplementedHealthServer
	called, answer chan bool
}

func (h *slowHealth) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	h.called <- true
	<-h.answer
	return &healthpb.HealthCheckResponse{}, nil
}

// TestFreeStream tests a call that waits for a free stream, because the server allows one per
// connection.
func TestFreeStream(t *testing.T) {
	h := &slowHealth{called: make(chan bool, 2), answer: make(chan bool)}
	s := grpc.NewServer(grpc.MaxConcurrentStreams(1))
	healthpb.RegisterHealthServer(s, h)
	l := listen(t)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	failed := make(chan error, 2)
	call := func() {
		_, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
		failed <- err
	}
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	go call()
	<-h.called
	go func() {
		r := region.Start(context.Background(), "")
		call()
		r.End()
	}()
	const waits = "[select]:\ngoogle.golang.org/grpc/internal/transport.(*http2Client).NewStream("
	for stacks := make([]byte, 1<<20); !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), waits); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(hold) // so that most of the call is that wait
	close(h.answer)
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	trace.Stop()
	for r, err := range reqtrace.Read(t.Context(), &buf, reqtrace.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		b := r.Sites[0]
		if b.Cause != reqtrace.CauseChannel || b.Op != "gRPC stream" || b.Time < hold || b.Holder != "" {
			t.Errorf("%+v", r.Sites)
		}
	}
}
