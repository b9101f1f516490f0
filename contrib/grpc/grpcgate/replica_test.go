package grpcgate_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"evenkeel.dev/contrib/grpc/grpcgate"
	"evenkeel.dev/contrib/grpc/grpcgate/client"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// eventTimeout ends what hangs.
const eventTimeout = time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(eventTimeout); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", eventTimeout, what)
		}
	}
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// replica is a grpc-go server with a gate over a simulated heap, so that a process can have two.
type replica struct {
	testpb.UnimplementedTestServiceServer
	addr   string
	signal *grpcgate.Signal
	gate   *gcgate.Gate
	log    logBuffer

	calls atomic.Int64 // unary ones
	after atomic.Int64 // of these, since NOT_SERVING was sent to each Watch
	// Of these, not the first ones of their connection in a collection. The client had heard of it
	// by then.
	again atomic.Int64

	mu      sync.Mutex
	clients map[string]struct{}
	came    map[string]struct{} // connections, in this collection
	state   gcgate.State
	left    time.Time       // when the announcement began
	last    time.Duration   // from then to the last call
	closing []time.Duration // from the announcement to the last call
}

func (r *replica) onEvent(e gcgate.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state = e.State; e.State {
	case gcgate.StateAnnouncing:
		r.left, r.last = time.Now(), 0
	case gcgate.StateCollecting:
		clear(r.came)
	case gcgate.StateReadying:
		r.closing = append(r.closing, r.last)
	}
}

func (r *replica) count(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	r.calls.Add(1)
	if p, ok := peer.FromContext(ctx); ok {
		r.countFrom(p.Addr.String())
	}
	return handler(ctx, req)
}

func (r *replica) countFrom(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients[client] = struct{}{}
	if r.state == gcgate.StateCollecting {
		if _, ok := r.came[client]; ok {
			r.again.Add(1)
		}
		r.came[client] = struct{}{}
	}
	switch r.state {
	case gcgate.StateDraining, gcgate.StateCollecting:
		r.after.Add(1)
		fallthrough
	case gcgate.StateAnnouncing:
		r.last = time.Since(r.left)
	}
}

func (r *replica) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func (r *replica) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// startReplica serves until the test ends. gate needs Turns, or a policy without signals.
func startReplica(t *testing.T, o grpcgate.Options, gate gcgate.Options) *replica {
	t.Helper()
	return startService(t, o, gate, nil)
}

func startService(t *testing.T, o grpcgate.Options, gate gcgate.Options, service testpb.TestServiceServer) *replica {
	t.Helper()
	r, heap := &replica{clients: map[string]struct{}{}, came: map[string]struct{}{}}, gcgatetest.NewHeap()
	heap.Rate, heap.Mark = 0, 30*time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	if r.signal, err = grpcgate.New(o); err != nil {
		t.Fatal(err)
	}
	gate.Policy, gate.Signals, gate.Collector, gate.OnEvent = gcgate.PolicyDrain, []gcgate.Signal{r.signal}, heap,
		r.onEvent
	gate.Logger, gate.Period = slog.New(slog.NewTextHandler(&r.log, nil)), -1
	if r.gate, err = gcgate.Start(t.Context(), gate); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(append(r.signal.ServerOptions(), grpc.ChainUnaryInterceptor(r.count))...)
	r.signal.Register(server)
	if service == nil {
		service = r
	}
	testpb.RegisterTestServiceServer(server, service)
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(l) }()
	t.Cleanup(func() {
		if err := r.gate.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		server.Stop()
		<-served
		if t.Failed() {
			t.Logf("log of %s:\n%s", r.addr, &r.log)
		}
	})
	return r
}

// dial returns a client of these replicas with a service configuration.
func dial(t *testing.T, config string, replicas ...*replica) testpb.TestServiceClient {
	t.Helper()
	addrs := manual.NewBuilderWithScheme("replicas")
	var state resolver.State
	for _, r := range replicas {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: r.addr})
	}
	addrs.InitialState(state)
	o := []grpc.DialOption{grpc.WithResolvers(addrs), grpc.WithTransportCredentials(insecure.NewCredentials())}
	if config != "" {
		o = append(o, grpc.WithDefaultServiceConfig(config))
	}
	conn, err := grpc.NewClient("replicas:///service", o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.Connect()
	return testpb.NewTestServiceClient(conn)
}

func watched(t *testing.T, n int, replicas ...*replica) {
	t.Helper()
	for _, r := range replicas {
		eventually(t, "the clients watch "+r.addr, func() bool { return r.signal.Watches() == n })
	}
}

// called waits until each replica has had calls from so many clients. A client that has not called
// is idle for the signal, and may find both replicas away.
func called(t *testing.T, n int, replicas ...*replica) {
	t.Helper()
	for _, r := range replicas {
		eventually(t, "the clients call "+r.addr, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.clients) >= n
		})
	}
}

// load is clients that call, one call at a time each.
type load struct {
	stop         chan struct{}
	running      sync.WaitGroup
	sent, failed atomic.Int64
	firstFailure atomic.Pointer[error]
}

func startLoad(t *testing.T, clients ...testpb.TestServiceClient) *load {
	l := &load{stop: make(chan struct{})}
	for _, c := range clients {
		l.running.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				case <-time.After(3 * time.Millisecond):
				}
				l.sent.Add(1)
				ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
				if _, err := c.EmptyCall(ctx, &testpb.Empty{}); err != nil && l.failed.Add(1) == 1 {
					l.firstFailure.Store(&err)
				}
				cancel()
			}
		})
	}
	t.Cleanup(func() { l.end(t) })
	return l
}

// end ends the load, and fails the test if a call has failed.
func (l *load) end(t *testing.T) {
	t.Helper()
	select {
	case <-l.stop:
		return
	default:
	}
	close(l.stop)
	l.running.Wait()
	if n := l.failed.Load(); n > 0 {
		t.Errorf("%d of %d calls failed, the first with %v", n, l.sent.Load(), *l.firstFailure.Load())
	}
}

func collect(t *testing.T, rounds int, replicas ...*replica) {
	t.Helper()
	var asked sync.WaitGroup
	for range rounds {
		for _, r := range replicas {
			asked.Go(func() {
				if err := r.gate.Collect(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		asked.Wait()
	}
}

func (r *replica) announced() uint64 { return r.gate.Stats().Phases[gcgate.StateAnnouncing].Count }

func (r *replica) met() uint64 { return r.gate.Stats().Overlapped }

// wantFollowed fails the test if clients go on calling a replica that is about to collect. A client
// without a processor may hear of it only with the answer to a call that overlaps the collection.
// That call does not count.
func wantFollowed(t *testing.T, clients uint64, replicas ...*replica) {
	t.Helper()
	again, heard := uint64(0), uint64(0)
	for _, r := range replicas {
		again += uint64(r.again.Load())
		heard += r.announced() * clients
		if n := r.gate.Stats().IgnoredDrains; n*4 > r.announced() {
			t.Errorf("%d of %d drains of %s were not followed", n, r.announced(), r.addr)
		}
	}
	if again*4 > heard {
		t.Errorf("%d calls went to a replica that collected, after one that had; clients were told of it %d times",
			again, heard)
	}
}

// wide has bounds that no stall of the machine exceeds.
func wide(turns gcgate.Turns) gcgate.Options {
	return gcgate.Options{Turns: turns, AnnounceTimeout: 10 * time.Second, DrainTimeout: 10 * time.Second}
}

// patient waits for clients that get no processor for seconds.
var patient = grpcgate.Options{ReturnTimeout: 10 * time.Second}

func watching(t *testing.T, n int, replicas ...*replica) (clients []testpb.TestServiceClient) {
	t.Helper()
	for range n {
		clients = append(clients, dial(t, client.ServiceConfig, replicas...))
	}
	watched(t, n, replicas...)
	return clients
}
