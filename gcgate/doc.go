// Package gcgate keeps requests from overlapping a garbage collection.
//
// A [Gate] switches the runtime's own pacing off (GOGC) and decides itself when to collect. It
// tells the load balancer first, waits until the process is quiet, collects with all cores,
// and comes back; a group of replicas takes turns, so that the others carry the load:
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
//	+------------+             no request is here                +------------+  DrainTimeout (1)
//
// The turn is released when the peers have this process back, in Readying or later. (1) Where
// requests keep coming although each peer has confirmed the drain, the gate warns, and waits on for
// them to end, up to the hard threshold. Longer bounds than the usual ones end there, too.
//
// The gate itself refuses no request. One that comes all the same runs during the collection. Under
// [PolicyShed] the adapter that counts the requests refuses new ones until the gate is back.
//
// # Use
//
// [Start] a gate and have the requests counted: evenkeel.dev/gcgate/httpgate wraps an http.Handler;
// anything else calls [Gate.Enter] and [Ticket.Exit]. Tell the gate its peers, [Options].Signals:
//
//   - evenkeel.dev/gcgate/haproxy: HAProxy's runtime API, and its agent-check
//   - evenkeel.dev/gcgate/health: health checks over HTTP, of HAProxy, Envoy and others
//   - evenkeel.dev/gcgate/httpgate: InBand, for Go clients that use evenkeel.dev/gcgate/client
//   - a [Signal] of your own
//
// and how the replicas take turns, [Options].Turns: [FileTurns] on one host,
// evenkeel.dev/contrib/etcdturn on many. Start refuses a signal that could leave no replica to
// serve without them. Without peers, [PolicyAuto] spends the memory that the process has on fewer
// collections, and the log says what it chose and what a second replica would give.
// [Stats].Overlapped counts the requests that overlapped a collection all the same.
//
// # Signals and adapters of your own
//
// The packages above use nothing but what is exported here, so that one for another balancer or
// another protocol can do all that they can:
//
//   - a signal may implement [Attacher], [Checker], [Confirmer], [Describer], [Explainer],
//     [Validator] and [Watcher]; turns may implement [Queue] and [TurnCounter]
//   - an adapter that counts requests looks at [Gate.Refusing] first; a request that it refuses it
//     tells [Gate.Remaining], and counts with [Gate.CountRefused]; [Gate.Signals] has the signal
//     that belongs to the adapter
//   - metrics read [Gate.Stats], and any number of observers hear each event: [Gate.Observe];
//     httpgate.Status is a page
//   - tests run any number of gates over a heap of evenkeel.dev/gcgate/gcgatetest, minutes of them
//     in no time
//
// # When it helps
//
// At GOMAXPROCS 1 to 3 the collector's mark workers take whole time slices from requests, and
// assists follow as the load rises (golang/go #21698, #18534): a live heap of hundreds of
// megabytes then costs milliseconds at the 99th percentile. With four cores or more, with a
// small heap, or with memory to spare for GOGC=400, measure first: docs/guides/gcgate.md has
// figures. Draining one of n replicas moves its load to the others for the time of a
// collection; they need the capacity.
//
// # Memory
//
// With live the heap after the last collection, the gate collects at the trigger and, if it does
// not get the turn, where the heap has grown 2.5 times as far as to the highest trigger that there
// may be (HardRatio). The trigger is the heap that there is after two seconds at the present rate
// of allocation, at least 2 x live and 32 MiB, at most half of the memory limit, or without any
// limit a 32nd of the memory that the machine has available, up to 512 MiB
// ([Options].MinTriggerBytes and MaxTriggerBytes change these bounds). So collections are seconds
// apart where there is memory for it.
//
// The runtime's own limit stays above as a safety limit. When it acts, the log says which limit was
// near, and what to do. It acts as early as 0.7 of the way from the live heap to the limit, so a
// memory limit lowers the trigger to 0.75 and the hard threshold to 0.9 of the way there
// (evenkeel.dev/gcgate/capacity.RuntimeStart): together 0.51 and 0.61 of the way from the live heap
// to what the limit leaves to the heap.
//
// The limit is GOMEMLIMIT or Options.MemoryLimitBytes, or 0.9 of the control group's where that
// is lower. The package github.com/KimMachineGun/automemlimit sets GOMEMLIMIT from the control
// group before Start looks, so that the runtime keeps it without a gate, too:
//
//	import _ "github.com/KimMachineGun/automemlimit"
//
// # Sources
//
// The idea is that of the Garbage Collector Control Interceptor (Fireman, Lopes, Brunet:
// "Using Load Shedding to Fight Tail-Latency on Runtime-Based Services", SBRC 2017) and of
// Blade (Terei, Levy: "Blade: A Data Center Garbage Collector", arXiv 1504.02578).
package gcgate
