package reqtrace

// A turn is what a goroutine does from one wait for work to the next. If it serves a request, the
// turn's times are the request's. Its phase says how far it is:
//
//	              turnWoken
//	idle ──────────────────────────> woken ───────────────────┐
//	 ^ │  turnLooks                    │                      │ turnBegins
//	 │ ├────────────────> looking ─────┤ turnAnswers          │ (from each of the four)
//	 │ └────────────┐        │         v                      v
//	 │              └────────┴─────> answered ────────────> region ──> and again: depth
//	 │                                 │                      │
//	 │                                 │                      │ turnEnds, of the outermost
//	 │                                 │                      v
//	 └─────────────────────────────────┴──────────────────── ended
//
// The way back to idle hands out a request: from ended at any wait of its own, from answered (where
// there is no region) at a wait outside of the handler, from both when the connection looks for the next
// request or the goroutine ends. From looking and woken it leads back without one, at a wait
// for a request: none had come.
//
// Invariants:
//   - start is set in serving, region and ended, and nowhere else; depth is above 0 in region, and nowhere else.
//   - woken is 0 in idle. In woken it is the wake-up, in looking the look; the later phases have it from there.
//   - What is handed out with known unset began before the trace: it is cut, and not taken apart.
//   - No request of this turn needs what was before [goroutine.begin]: from there on prune keeps the past.
//
// A goroutine that serves requests another way than HTTP/1's connections (serving.go) has the same turn, without a
// region in between:
//
//	        turnServes: created; turnWoken: there is work
//	idle ───────────────────────────────────────────────────────> serving ──> region, ended: as above
//	 ^                                                               │
//	 └───────────────────────────────────────────────────────────────┘
//	        turnSeeks: it waits for work; turnDies
//
// Phases change in [turns.step], and in [goroutine.reset], which leads back to idle.
type phase uint8

const (
	phaseIdle     phase = iota // it waits for work, or nothing is known of it yet
	phaseLooking               // a connection that has looked for the next request, and may have found none
	phaseWoken                 // its wait for work has ended
	phaseAnswered              // a connection without a region that has written to its client
	phaseRegion                // a request's region is open
	phaseServing               // a goroutine of another way serves a request
	phaseEnded                 // the region has ended: the request lasts until the next wait
)

// turnEvent is what takes a turn from a phase to another.
type turnEvent uint8

const (
	turnWoken   turnEvent = iota // a wait that was for work, or may have been, has ended
	turnLooks                    // a connection reads outside of its handler
	turnAnswers                  // it writes to its client
	turnBegins                   // a region begins
	turnEnds                     // a region ends
	turnWaits                    // a wait of its own begins; where, does not matter
	turnOutside                  // likewise, of a connection outside of its handler
	turnNothing                  // likewise, for the next request: there was none yet
	// likewise, of no connection, for time or a channel: what woke it before was no request
	turnLeisure
	turnServes // a goroutine is created for a request
	turnSeeks  // a goroutine that takes one piece of work after the other waits for the next
	turnDies   // the goroutine ends
)

// turn is a turn under way. Times are nanoseconds of the trace's clock, 0: not yet.
type turn struct {
	phase phase
	known bool   // its begin is in the trace
	mark  int64  // when the turn before ended, or the goroutine began
	woken int64  // when its request was there
	awake int64  // when its last wait of any kind ended
	seq   uint64 // of the turn; 0: none yet
	start int64  // of the request
	depth int    // regions of requests that are open
	reqID string

	class      siteID // the handler's function, as far as stacks tell
	classDepth uint8  // of its frame: the innermost handler counts
	route      siteID // what the program itself says that the class is
	measures   bool   // it answers with a trace, a profile or a status page

	// Of wayLife and wayTurns:
	did      bool // it waited, or called something
	answered bool // it wrote to a connection
	closed   bool // it closed one
	seeking  bool // the turn began with a look for a request that nothing has come of yet
}
