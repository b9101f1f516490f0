// Package evenkeel is the map of a toolkit that keeps the tail of a Go service's
// latency flat. It holds no API of its own: each package beside it can be adopted alone.
//
//   - [evenkeel.dev/loadgen] measures: open-loop and closed-loop HTTP load, latency from
//     the intended send time, HDR histograms.
//   - [evenkeel.dev/gctrace] measures: what the garbage collector cost, from the lines of
//     GODEBUG=gctrace=1 or from runtime/metrics.
//   - [evenkeel.dev/gcgate] removes: it decides when to collect, and tells the load balancer
//     first, so that no request meets a collection. [evenkeel.dev/gcgate/httpgate] counts the
//     requests of a net/http server for it; [evenkeel.dev/gcgate/haproxy] and
//     [evenkeel.dev/gcgate/health] tell balancers, [evenkeel.dev/gcgate/client] is a Go client that
//     needs none. For adapters of one's own there are [evenkeel.dev/gcgate/polled] and
//     [evenkeel.dev/gcgate/gcgatetest].
//   - [evenkeel.dev/aio] removes: one goroutine drives tens of thousands of connections, by
//     io_uring or epoll, instead of a goroutine and its buffers for each.
//
// The command evenkeel (cmd/evenkeel) runs a service under load, reports both side by
// side, and compares variants of it.
package evenkeel
