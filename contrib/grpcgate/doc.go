// Package grpcgate lets no gRPC call meet a garbage collection: it counts the calls of a grpc-go
// server for a gate of evenkeel.dev/gcgate, and tells the clients, by the health service
// grpc.health.v1, to send their calls to another replica meanwhile. No proxy is needed.
//
// [New] returns a [Signal], which is all of it:
//
//	signal, err := grpcgate.New(grpcgate.Options{})
//	gate, err := gcgate.Start(ctx, gcgate.Options{Signals: []gcgate.Signal{signal}, Turns: turns})
//	server := grpc.NewServer(signal.ServerOptions()...)
//	signal.Register(server) // the health service, in the place of health.RegisterHealthServer
//
// Clients need the service configuration of evenkeel.dev/contrib/grpcgate/client: round_robin over
// all replicas, and healthCheckConfig. They then hold a Watch stream to each replica. Before a
// collection each Watch is sent NOT_SERVING, and the client's next call goes elsewhere; calls in
// flight end where they are.
//
// # What counts
//
// Unary calls count from the interceptor until they return. Streams do not: a client cannot move
// one, and a stream that lasts would hold each collection up until the drain's bound. They go on
// beside the collection, and none is broken. [Options].Messages counts the messages of short ones.
// The health service's own methods never count.
//
// # Who hears
//
// Clients that do not watch (pick_first, no healthCheckConfig, no import of grpc/health in a Go
// client) hear nothing, and their calls meet the collection: they are named in the log by their
// address. Where nobody watches the signal is silent, and collections go without it. So does a
// proxy in front that balances calls itself: Envoy wants deploy/envoy in its place.
//
// Check, which Kubernetes' probes and grpc_health_probe ask, says what the service itself says, not
// that it is away: a process that collects is well.
//
// # Turns
//
// When all replicas have said NOT_SERVING at once, calls fail with UNAVAILABLE. So the gates need
// Turns ([gcgate.FileTurns], evenkeel.dev/contrib/etcdturn). Calls with grpc.WaitForReady, or with
// waitForReady in the method's configuration, do not fail then: they wait for the first that is
// back.
//
// # The way back
//
// The turn is held until each client has this process back: a call on its connection proves it. A
// client that is idle sends none, so it is taken to have this process back some milliseconds after
// SERVING was sent to it, and any client after a quarter of a second.
//
// # Cost
//
// A lookup and two atomic additions a call, and a goroutine a Watch.
//
// Source: doc/health-checking.md of gRPC, and gRFC A17, Client-Side Health Checking.
package grpcgate
