// Package httpgate counts the requests of a net/http server for a gate of evenkeel.dev/gcgate, so
// that the gate knows when no request is here, and speaks for the gate over HTTP.
//
// [Guard] is a gate and this in one line. [Wrap] is all that most services with a gate need; [New]
// has options. Around the server's whole handler it
//
//   - counts each request while its handler runs, also when that panics, and leaves long streams
//     out, which no collection can wait for;
//   - refuses requests with 503 and Retry-After while the gate is drained under gcgate.PolicyShed;
//   - announces collections to clients without a balancer in the headers of answers, if the gate
//     has an [InBand] among its signals; evenkeel.dev/gcgate/client is such a client;
//   - answers the header protocol of the Garbage Collector Control Interceptor where
//     [Options].GCIPeers names who may use it.
//
// docs/reference/protocol.md has the headers. A request that is served while no collection is
// announced costs some tens of nanoseconds more, and no allocation. It works with every
// http.Handler, over HTTP/1.1 and HTTP/2 alike; gRPC servers have evenkeel.dev/contrib/grpcgate;
// servers of another kind (fasthttp) count by gcgate.Gate.Enter and refuse by Gate.Refusing, as
// this package does.
package httpgate
