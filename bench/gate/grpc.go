package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"evenkeel.dev/contrib/grpcgate/client"
)

// How gRPC is called.
const (
	grpcRate    = 700 // calls a second, over both replicas, where collections are forced
	grpcClients = 4   // each has a connection to each replica
	grpcStreams = 20
	streamEvery = 50 * time.Millisecond // a message of each stream

	mostAddedToDrain = 5 // ms, by streams
	mostToLastCall   = 5 // ms, from the announcement, p99
	mostAfterWatch   = 2 // calls, since each Watch was sent
	leastForced      = 30
)

const streamsMode = "gated, streams"

// grpcTeam is two replicas that gRPC's own clients choose from.
var grpcTeam = team{
	replicas: 2,
	modes: []mode{
		grpcMode(mode{name: "default", what: "the stock runtime", under: "grpc"}, false),
		grpcMode(mode{name: "gated", what: "policy drain, told by Watch, turns by a file"}, true),
		grpcMode(mode{name: streamsMode, what: "the same beside open streams", streams: grpcStreams}, true),
		grpcMode(mode{name: noTurns, what: "the same without turns, and calls wait for a replica (WaitForReady)", waits: true, under: "grpc forced"}, true),
		floor(grpcMode(mode{under: "grpc"}, false)),
	},
	// Not at grpcRate: there not one call in a hundred meets a collection.
	loads:   []load{{name: "grpc", share: moderate}, {name: "grpc forced", rate: grpcRate, forced: true}},
	targets: map[string][]target{"grpc": {{"default", "gated", "p99", 5, true}}},
	counts: []count{
		{mode: "gated", load: "grpc"},
		{mode: "gated", load: "grpc forced"},
		{mode: streamsMode, load: "grpc forced"},
		{mode: noTurns, load: "grpc forced"},
	},
	more: (*driver).grpcFigures,
}

// grpcMode fills in a mode of subject that is called over gRPC.
func grpcMode(m mode, gated bool) mode {
	m.program, m.grpc, m.counts = "subject", true, gated
	m.args = func(p place) []string {
		args := []string{"-grpc", p.grpc}
		if gated {
			args = append(args, "-gate=drain")
		}
		if gated && !m.waits {
			args = p.inTurn(args...)
		}
		return args
	}
	return m
}

// grpcFigures adds what forced collections did to calls, and streams to drains.
func (d *driver) grpcFigures() {
	const load = "grpc forced"
	collections, drained, broken, open := 0, 0, 0, 0
	var last []float64 // ms
	for _, mode := range []string{"gated", streamsMode} {
		for _, s := range d.good(mode, load) {
			broken += s.Broken
			if mode == streamsMode {
				open++
			}
			for _, c := range s.Counted {
				collections += len(c.Away)
				for _, a := range c.Away {
					last = append(last, a.Last.Seconds()*1e3)
					drained = max(drained, a.Drained)
				}
			}
		}
	}
	if len(last) > 0 {
		slices.Sort(last)
		d.set.AtLeast("grpc: forced collections", []float64{float64(collections)}, leastForced, "")
		d.set.AtMost("grpc: announcement to the last new call, p99", []float64{last[(len(last)*99+99)/100-1]}, mostToLastCall, " ms")
		d.set.AtMost("grpc: most calls since each Watch was sent", []float64{float64(drained)}, mostAfterWatch, "")
	}
	if open > 0 {
		d.set.AtMost("grpc: broken streams", []float64{float64(broken)}, 0, "")
	}
	with, without := d.meanDraining(streamsMode, load), d.meanDraining("gated", load)
	var added []float64
	for i := range min(len(with), len(without)) {
		added = append(added, with[i]-without[i])
	}
	if len(added) > 0 {
		d.set.AtMost("grpc: what streams add to a drain", added, mostAddedToDrain, " ms")
	}
}

// meanDraining returns, by round, how long it took in the mean until calls had ended, in ms.
func (d *driver) meanDraining(mode, load string) (xs []float64) {
	for _, s := range d.good(mode, load) {
		var total time.Duration
		n := 0
		for _, c := range s.Counted {
			for _, a := range c.Away {
				total += a.Draining
				n++
			}
		}
		xs = append(xs, total.Seconds()*1e3/float64(max(n, 1)))
	}
	return xs
}

// callers are gRPC clients of all replicas.
type callers struct {
	conns   []*grpc.ClientConn
	clients []testpb.TestServiceClient

	broken  atomic.Int64 // streams
	end     context.CancelFunc
	running sync.WaitGroup
}

// dialReplicas returns clients with the service configuration that gated replicas want, and so many open streams. Calls wait for a
// replica that serves, or fail where there is none.
func dialReplicas(addrs []string, streams int, wait bool) (*callers, error) {
	c := new(callers)
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	var state resolver.State
	for _, a := range addrs {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
	}
	for range grpcClients {
		replicas := manual.NewBuilderWithScheme("replicas")
		replicas.InitialState(state)
		conn, err := grpc.NewClient("replicas:///service", grpc.WithResolvers(replicas),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(client.ServiceConfig),
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

// talk has a stream carry a message there and back now and then, until ctx ends or it breaks.
func talk(ctx context.Context, to testpb.TestServiceClient) {
	stream, err := to.FullDuplexCall(ctx, grpc.WaitForReady(true))
	for err == nil {
		if err = stream.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
			break
		}
		if _, err = stream.Recv(); err == nil {
			err = pause(ctx, streamEvery)
		}
	}
}

// call is loadgen's Call.
func (c *callers) call(ctx context.Context, worker int) error {
	_, err := c.clients[worker%len(c.clients)].EmptyCall(ctx, &testpb.Empty{})
	return err
}

// after notes in s how many streams were broken.
func (c *callers) after(_ context.Context, s *sample) error {
	s.Broken = int(c.broken.Load())
	return nil
}

func (c *callers) close() {
	c.end()
	c.running.Wait()
	for _, conn := range c.conns {
		_ = conn.Close() // it has no calls any more
	}
}
