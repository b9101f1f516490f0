package gcgate

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// Options configure a [Gate]. The zero value works: it is policy Auto without peers.
type Options struct {
	// Policy says what to do around a collection. Default: Auto.
	Policy Policy

	// Signals are the peers to tell; all of them are told at once. Default: none.
	Signals []Signal

	// Turns says when this replica may collect. Default: nil, at any time; with several
	// replicas behind one balancer that fails requests when two collect at once.
	Turns Turns

	// HoldTurn is how long to keep the turn once this process is back, so that a peer that
	// stays away for a time after a refusal has come back before the next replica refuses.
	// Default: 0, which is 2 s under Shed (nginx counts whole seconds, so that its fail_timeout
	// of 1 s in deploy/nginx lasts up to two), and none otherwise; negative: none. Limit: 1
	// minute.
	HoldTurn time.Duration

	// MemoryLimitBytes is what the process may take of memory. Default: 0, the runtime's own
	// limit (GOMEMLIMIT, or what automemlimit set), or 0.9 of the control group's where that is
	// lower; math.MaxInt64 leaves the control group's out. Limit: the lower one holds.
	MemoryLimitBytes int64

	// TriggerRatio, HardRatio and IdleRatio are the heaps at which to collect, in multiples of
	// the heap that was live after the last collection: at the trigger when the turn comes, at
	// the hard threshold at once, at the idle one when no request is in flight. Where the
	// bounds below let the trigger be higher, the hard threshold is as many times higher than
	// it as the ratios say. The limit lowers them: the trigger is at most 0.8, the hard
	// threshold 0.9 of it. Default: 0, which is 2, 2.75 and 1.3.
	TriggerRatio, HardRatio, IdleRatio float64

	// MinTriggerBytes and MaxTriggerBytes bound the trigger while it follows the allocation: it
	// is the heap that there is after two seconds at the present rate, at least MinTriggerBytes
	// and TriggerRatio times the live heap, at most MaxTriggerBytes. Default of the first: 0,
	// which is 32 MiB. Default of the second: 0, which is half of the memory limit, or without
	// any limit a 32nd of the memory that the machine has available, up to 512 MiB (32 MiB
	// where neither can be known). Both the same: the trigger follows nothing but the live heap.
	// Limit: 0.8 of the memory limit.
	MinTriggerBytes, MaxTriggerBytes int64

	// Jitter lowers each trigger by a random share up to this, so that replicas do not
	// collect in step. Default: 0, which is 0.1; negative: none. Limit: 0.5.
	Jitter float64

	// AnnounceTimeout bounds the wait for the peers to act on the announcement; past it the
	// gate goes on. A [Confirmer] whose peer would not act in time is silent, as a health check
	// that is polled too seldom. Default: 0, which is 100 ms. Limit: 10 s.
	AnnounceTimeout time.Duration

	// DrainTimeout bounds the wait for requests in flight; past it the gate collects beside
	// them, which is safe. Default: 0, which is 100 ms.
	DrainTimeout time.Duration

	// QuietFor is how long no request must be in flight nor enter before the collection
	// starts. Default: 0, which is 2 ms.
	QuietFor time.Duration

	// Period is the longest time without a collection, so that finalizers run and idle memory
	// goes back. Default: 0, which is 2 minutes as in the runtime; negative: none.
	Period time.Duration

	// Stream says which requests are long streams, that [Gate.Middleware] must not wait for.
	// It is called for each request. Default: nil, which is [IsStream].
	Stream func(*http.Request) bool

	// GCIPeers are the addresses that may use the header protocol of the Garbage Collector
	// Control Interceptor (docs/reference/protocol.md). Default: none, the protocol is off.
	GCIPeers []netip.Prefix

	// Logger gets Warn for what needs an operator and Debug for changes of state; the trigger's
	// rule and Auto's choice are at Info. Default: nil, which is slog.Default().
	Logger *slog.Logger

	// OnEvent is called at each change of state, from the gate's goroutine: it must not
	// block. Default: nil.
	OnEvent func(Event)
}
