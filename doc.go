// Package evenkeel is the map of a toolkit that keeps the tail of a Go service's
// latency flat. Its only type is the error of options. Each package below it can be adopted alone.
//
// To measure:
//
//   - [evenkeel.dev/loadgen]: open-loop and closed-loop load, over HTTP/1.1, HTTP/2 or any client,
//     latency from the time a request was due, HDR histograms.
//   - [evenkeel.dev/gctrace]: what the garbage collector cost, from the lines of
//     GODEBUG=gctrace=1 or from runtime/metrics.
//   - [evenkeel.dev/tailstat]: whether two sets of runs differ in their tail, or the result is inconclusive.
//
// To explain:
//
//   - [evenkeel.dev/reqtrace]: an execution trace to requests, each with where its time went,
//     and what the slow ones have more of.
//   - [evenkeel.dev/reqtrace/verdict]: that in words, for a test of your service.
//   - [evenkeel.dev/reqtrace/region]: what a service imports to mark its requests in a trace.
//   - [evenkeel.dev/reqtrace/recorder]: in a live service: the flight recorder, kept when a request
//     was slow, explained and counted.
//   - [evenkeel.dev/contrib/prometheus], a module of its own, exports metrics to Prometheus:
//     [evenkeel.dev/contrib/prometheus/promrecorder] those of a recorder,
//     [evenkeel.dev/contrib/prometheus/promgate] of a gate,
//     [evenkeel.dev/contrib/prometheus/promaio] of a Watcher, and
//     [evenkeel.dev/contrib/prometheus/promhttpd] of a server.
//   - [evenkeel.dev/contrib/otel], a module of its own, exports to OpenTelemetry:
//     [evenkeel.dev/contrib/otel/otelrecorder] a recorder's metrics, and a span for each slow
//     request that says why, and [evenkeel.dev/contrib/otel/otelgate] a gate's metrics.
//
// To remove:
//
//   - [evenkeel.dev/gcgate]: it decides when to collect, and tells the load balancer first, so
//     that no request overlaps a collection. [evenkeel.dev/gcgate/httpgate] counts the requests of a
//     net/http server for it; [evenkeel.dev/gcgate/haproxy] and [evenkeel.dev/gcgate/health] tell
//     balancers, [evenkeel.dev/gcgate/client] is a Go client that needs none;
//     [evenkeel.dev/gcgate/capacity] says by formulas what replicas need. Tests of
//     adapters use [evenkeel.dev/gcgate/gcgatetest].
//   - [evenkeel.dev/contrib/etcdturn], a module of its own: replicas behind gates take turns, by
//     leases of etcd.
//   - [evenkeel.dev/contrib/grpc/grpcgate], in the module evenkeel.dev/contrib/grpc: the gate for gRPC
//     servers, whose clients hear of collections by grpc.health.v1.
//     [evenkeel.dev/contrib/grpc/grpcgate/client] is what these need.
//   - [evenkeel.dev/contrib/grpc/grpcrecorder], in the same module: a recorder for gRPC servers.
//   - [evenkeel.dev/contrib/grpc/grpcregion], in the same module: marks of gRPC calls in traces.
//   - [evenkeel.dev/contrib/k8sturn], a module of its own: turns by Leases of Kubernetes.
//   - [evenkeel.dev/contrib/raftgate], a module of its own: in a Raft group the leadership goes to
//     another member before a collection; [evenkeel.dev/contrib/raftgate/etcdraft] is for
//     go.etcd.io/raft/v3, [evenkeel.dev/contrib/raftgate/hashiraft] for github.com/hashicorp/raft.
//   - [evenkeel.dev/aio]: one goroutine drives tens of thousands of connections, by io_uring or
//     epoll, instead of a goroutine and its buffers for each.
//   - [evenkeel.dev/aio/gaio]: gaio's API over aio.
//   - [evenkeel.dev/aio/netconn]: connections of aio that block, as crypto/tls and net/http want them.
//   - [evenkeel.dev/aio/aiotest]: what tests of code over aio need.
//   - [evenkeel.dev/httpd]: net/http's own server over aio, without a goroutine and a buffer for each idle connection.
//   - [evenkeel.dev/fastc]: C functions that return soon, called without the scheduler's round
//     trip. The command fastcgen (cmd/fastcgen) writes the calls from declarations.
//
// The command evenkeel (cmd/evenkeel) does all of measuring and explaining: it runs a service
// under load, compares variants of it, and says why its slowest requests are slow.
package evenkeel
