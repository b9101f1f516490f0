//go:build linux

package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/contrib/grpc/grpcgate/client"
)

const (
	grpcClients = 4 // each has a connection to each replica
	grpcStreams = 20
	streamEvery = 50 * time.Millisecond
)

const withStreams = "gated, streams"

func grpcGroup() group {
	called := func(name string, streams int, wait bool, gateFlags func(s *system) []string) way {
		w := way{
			name: name, program: service, window: messages,
			args: func(s *system, i int) []string { return append([]string{"-grpc", s.grpcs[i]}, gateFlags(s)...) },
			dial: func(s *system) (caller, error) { return dialReplicas(s.grpcs, streams, wait) },
		}
		w.gated = name == gated || name == withStreams || name == noTurns
		w.counts = w.gated
		return w
	}
	plain := called(stock, 0, false, func(*system) []string { return nil })
	inTurn := func(s *system) []string { return s.inTurn("-gate=drain") }
	g := group{
		Case: harness.Case{
			Name: "gate/grpc", What: "two replicas and gRPC's own clients with a health Watch, at 22% of a core each",
			Warmup: fillWarmup, Loads: []string{moderate, forced},
			Figures: []string{"announced", "late calls", "last call ms", "drain ms", "broken streams"},
			Claims:  append(kept(moderate, gated), ratio(moderate, stock, "p99", gated, harness.AtLeast(5))),
		},
		replicas: 2,
		ways: []way{
			under(moderate, controlOf(plain)), under(moderate, plain),
			called(gated, 0, false, inTurn), called(withStreams, grpcStreams, false, inTurn),
			under(forced, called(noTurns, 0, true, func(*system) []string { return []string{"-gate=drain"} })),
		},
		// At 700/s fewer than one call in a hundred overlaps a collection.
		loads: map[string]load{moderate: {rate: 1000, share: .22}, forced: {rate: 700}},
	}
	for _, way := range []string{gated, withStreams} {
		g.Claims = append(g.Claims,
			harness.None(way, forced, "failed"),
			harness.None(way, forced, "late calls"),
			harness.Claim{Load: forced, Way: way, Figure: "announced", Total: true, Target: harness.AtLeast(30)},
			harness.Claim{Load: forced, Way: way, Figure: "last call ms", Target: harness.AtMost(5), Unit: " ms"})
	}
	g.Claims = append(g.Claims,
		minus(forced, withStreams, "drain ms", gated, harness.AtMost(5), " ms"),
		harness.None(withStreams, forced, "broken streams"), harness.None(noTurns, forced, "failed"))
	return g
}

type callers struct {
	conns   []*grpc.ClientConn
	clients []testpb.TestServiceClient

	broken  atomic.Int64 // streams
	end     context.CancelFunc
	running sync.WaitGroup
}

// With wait a call waits for a replica that serves.
func dialReplicas(addrs []string, streams int, wait bool) (*callers, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &callers{end: cancel}
	var state resolver.State
	for _, a := range addrs {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
	}
	for range grpcClients {
		replicas := manual.NewBuilderWithScheme("replicas")
		replicas.InitialState(state)
		conn, err := grpc.NewClient("replicas:///service", grpc.WithResolvers(replicas),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultServiceConfig(client.ServiceConfig),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(wait)))
		if err != nil {
			c.close()
			return nil, err
		}
		conn.Connect()
		c.conns, c.clients = append(c.conns, conn), append(c.clients, testpb.NewTestServiceClient(conn))
	}
	for i := range streams {
		c.running.Go(func() {
			talk(ctx, c.clients[i%grpcClients])
			if ctx.Err() == nil {
				c.broken.Add(1)
			}
		})
	}
	return c, nil
}

func talk(ctx context.Context, to testpb.TestServiceClient) {
	stream, err := to.FullDuplexCall(ctx, grpc.WaitForReady(true))
	for err == nil {
		if err = stream.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
			break
		}
		if _, err = stream.Recv(); err == nil {
			err = harness.Wait(ctx, streamEvery)
		}
	}
}

func (c *callers) call(ctx context.Context, worker int) error {
	_, err := c.clients[worker%len(c.clients)].EmptyCall(ctx, &testpb.Empty{})
	return err
}

func (c *callers) after(_ context.Context, r *harness.Run) error {
	r.Set("broken streams", float64(c.broken.Load()))
	return nil
}

func (c *callers) close() {
	c.end()
	c.running.Wait()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}
