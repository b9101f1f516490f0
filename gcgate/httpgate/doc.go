// Package httpgate counts the requests of a net/http server for a gate of evenkeel.dev/gcgate.
// [Guard] starts a gate and wraps a handler in one line. [Wrap] is for a gate of your own, and
// [New] has options. The handler
//
//   - counts each request while it runs, but no long streams;
//   - refuses requests with 503 and Retry-After under gcgate.PolicyShed;
//   - announces collections in the headers of answers, if the gate has an [InBand] signal.
//
// A request costs some tens of nanoseconds more, and no allocation. gRPC servers have
// evenkeel.dev/contrib/grpc/grpcgate.
package httpgate
