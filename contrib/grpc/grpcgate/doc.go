// Package grpcgate keeps gRPC calls out of garbage collections. It counts the calls of a grpc-go
// server for a gate of evenkeel.dev/gcgate. Before a collection it tells the clients, by the health
// service grpc.health.v1, to use another replica. It needs no proxy.
//
// [New] returns a [Signal]:
//
//	signal, err := grpcgate.New(grpcgate.Options{})
//	gate, err := gcgate.Start(ctx, gcgate.Options{Signals: []gcgate.Signal{signal}, Turns: turns})
//	server := grpc.NewServer(signal.ServerOptions()...)
//	signal.Register(server) // the health service, in the place of health.RegisterHealthServer
//
// Clients need the service configuration of evenkeel.dev/contrib/grpc/grpcgate/client. They hold a
// Watch stream to each replica. Before a collection each Watch gets NOT_SERVING, and the client's
// next call goes to another replica. Calls in flight end where they are.
//
// Set Turns, because calls fail with UNAVAILABLE while all replicas are NOT_SERVING. Calls with
// grpc.WaitForReady wait instead.
//
// Unary calls count. Streams do not, because a client cannot move one.
//
// # Limits
//
// Clients that do not watch hear nothing. These are clients with pick_first, without
// healthCheckConfig, or in Go without an import of grpc/health. The log names their addresses. If
// no client watches, collections go on without the signal. The same holds behind a proxy that
// balances calls. For Envoy use deploy/envoy.
//
// Check, which Kubernetes' probes ask, returns the service's own health during a collection too.
//
// The gate keeps the turn until each client uses this process again. A call on its connection
// proves it. An idle client counts as back 20 ms after SERVING was sent, and any client after
// [Options].ReturnTimeout.
package grpcgate
