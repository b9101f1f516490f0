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
//	| Collecting | <-------------------------------------------- |  Draining  |  QuietFor, or
//	+------------+             no request is here                +------------+  DrainTimeout
//
// The gate refuses no request. One that comes nevertheless runs during the collection. Under
// [PolicyShed] the adapter that counts the requests refuses new ones until the gate is back.
//
// # Use
//
// [Start] a gate and count the requests: evenkeel.dev/gcgate/httpgate wraps an http.Handler, and
// anything else calls [Gate.Enter] and [Ticket.Exit]. [Options].Signals are the peers:
//
//   - evenkeel.dev/gcgate/haproxy: HAProxy's runtime API, and its agent-check
//   - evenkeel.dev/gcgate/health: health checks over HTTP, of HAProxy, Envoy and others
//   - evenkeel.dev/gcgate/httpgate: InBand, for Go clients that use evenkeel.dev/gcgate/client
//   - a [Signal] of your own, which evenkeel.dev/gcgate/gcgatetest helps to test
//
// [Options].Turns are the turns: [FileTurns] on one host, evenkeel.dev/contrib/etcdturn on many.
// Without signals, [PolicyAuto] spends memory on fewer collections.
//
// # When it helps
//
// At GOMAXPROCS 1 to 3 the collector's mark workers take whole time slices from requests
// (golang/go #21698, #18534). A live heap of hundreds of megabytes then costs milliseconds at the
// 99th percentile. With four cores or more, with a small heap, or with memory for GOGC=400, measure
// first. docs/gcgate.md has figures. The other replicas need the capacity to carry the load
// of a drained one.
//
// # Memory
//
// The trigger is the heap after two seconds of allocation, at least twice the live heap and 32 MiB,
// at most half of the memory limit. Without the turn the gate collects at the hard threshold. A
// memory limit lowers both, because the runtime collects as early as 0.7 of the way from the live
// heap to its limit. [Options] has the details.
//
// The limit is GOMEMLIMIT or Options.MemoryLimitBytes, or 0.9 of the control group's if that is
// lower. The package github.com/KimMachineGun/automemlimit sets GOMEMLIMIT from the control group:
//
//	import _ "github.com/KimMachineGun/automemlimit"
//
// # Sources
//
// The idea is that of the Garbage Collector Control Interceptor (Fireman, Lopes, Brunet:
// "Using Load Shedding to Fight Tail-Latency on Runtime-Based Services", SBRC 2017) and of
// Blade (Terei, Levy: "Blade: A Data Center Garbage Collector", arXiv 1504.02578).
package gcgate
