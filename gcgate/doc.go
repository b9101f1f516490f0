// Package gcgate keeps requests from overlapping a garbage collection.
//
// A [Gate] switches the runtime's own pacing off (GOGC) and decides itself when to collect. It asks
// the load balancer to drain this process, waits until the process is quiet, collects with all
// cores, and comes back. A group of replicas takes turns, so that the others carry the load:
//
//	                   heap at the trigger, or a gap, or Collect
//	+---------+ ------------------------------------------------> +---------+
//	| Serving |                                                   | Wanting |  TryAcquire a turn,
//	+---------+ <---------- a gap, and the turn is held --------- +---------+  or hard threshold
//	     ^                                                             |
//	     | the peers have seen Ready, 1 s at most                      v
//	+----------+                                                 +------------+  Signal.Drain,
//	| Readying | <----------------- turn lost ------------------ | Announcing |  AnnounceTimeout
//	+----------+ <--------------+                                +------------+
//	     ^                      |                                      | the peers have acted
//	     | the cycle has ended  |                                      v
//	+------------+              +------------------------------- +------------+  no request for
//	| Collecting | <-------------------------------------------- |  Draining  |  a while, or
//	+------------+             no request is here                +------------+  DrainTimeout
//
// The gate refuses no request. Under [PolicyShed] the adapter that counts requests refuses new ones
// until the gate is back.
//
// # Use
//
// [Start] a gate and count the requests. evenkeel.dev/gcgate/httpgate wraps an http.Handler. Other
// servers call [Gate.Enter] and [Ticket.Exit]. [Options].Signals are the peers:
//
//   - evenkeel.dev/gcgate/haproxy: HAProxy's runtime API
//   - evenkeel.dev/gcgate/health: health checks over HTTP, of HAProxy, Envoy and others
//   - evenkeel.dev/gcgate/httpgate: InBand, for Go clients that use evenkeel.dev/gcgate/client
//   - a [Signal] of your own, which evenkeel.dev/gcgate/gcgatetest helps to test
//
// [Options].Turns are the turns: [FileTurns] on one host, evenkeel.dev/contrib/etcdturn on many.
// Without signals, [PolicyAuto] spends memory on fewer collections.
//
// # When it helps
//
// It helps most at GOMAXPROCS 1 to 3 with a live heap of hundreds of megabytes. There the mark
// workers take whole time slices from requests (golang/go #21698, #18534). The other replicas need
// the capacity to carry the load of a drained one. docs/gcgate.md says when it does not help.
//
// # Sources
//
// The Garbage Collector Control Interceptor (Fireman, Lopes, Brunet: "Using Load Shedding to Fight
// Tail-Latency on Runtime-Based Services", SBRC 2017) and Blade (Terei, Levy: "Blade: A Data Center
// Garbage Collector", arXiv 1504.02578) had the idea.
package gcgate
