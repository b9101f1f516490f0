package reqtrace

// A turn is what a goroutine does from one wait for work to the next. Its phase says how far the
// request in it is:
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
// The way back to idle hands out a request: from ended at any wait of its own, from answered at a
// wait outside of the handler. From both it is also when the connection looks for the next request,
// or the goroutine ends. From looking and woken there is none.
//
// A goroutine of another way (serving.go) has the same turn:
//
//	        turnServes: created; turnWoken: there is work
//	idle ───────────────────────────────────────────────────────> serving ──> region, ended: as above
//	 ^                                                               │
//	 └───────────────────────────────────────────────────────────────┘
//	        turnSeeks: it waits for work; turnDies
//
// Invariants:
//   - start is set in serving, region and ended only. depth is above 0 in region only.
//   - woken is 0 in idle, the wake-up in woken, and the look in looking. Later phases keep it.
//   - A request with known unset began before the trace, and is not taken apart.
//   - No request of this turn needs what was before [goroutine.begin].
type phase uint8

const (
	phaseIdle    phase = iota
	phaseLooking       // a connection has looked for the next request
	phaseWoken
	phaseAnswered // a connection without a region has written to its client
	phaseRegion
	phaseServing // a goroutine of another way serves a request
	phaseEnded   // the request lasts until the next wait
)

type turnEvent uint8

const (
	turnWoken turnEvent = iota // a wait that may have been for work has ended
	turnLooks
	turnAnswers
	turnBegins
	turnEnds
	turnWaits   // a wait of its own, anywhere
	turnOutside // a wait of a connection outside of its handler
	turnNothing // a wait of a connection for the next request
	// a wait for a time or a channel, of no connection: its wake-up was no request
	turnLeisure
	turnServes
	turnSeeks // a goroutine of wayTurns waits for work
	turnDies
)

// turn is a turn under way. Times are by the trace's clock. 0: not yet.
type turn struct {
	phase phase
	known bool  // the trace has its begin
	mark  int64 // end of the turn before, or birth
	woken int64
	awake int64
	seq   uint64 // number of the turn; 0: none yet
	start int64
	depth int
	reqID string

	class      siteID // the handler's function
	classDepth uint8
	route      siteID // the class by the program itself
	measures   bool   // it answers with a trace, a profile or a status page

	// Of wayLife and wayTurns:
	did      bool // it waited, or called something
	answered bool
	closed   bool // it closed a connection
	seeking  bool // it began with a look for a request, and nothing came of it yet
}
