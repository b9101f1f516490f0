package reqtrace

import (
	"encoding/json"
	"time"

	"evenkeel.dev/internal/cpuwatch"
)

// Options configure [Read] and [Analyze]. The zero value works.
type Options struct {
	// Region is the type of the regions that are requests (runtime/trace.StartRegion), or a pattern
	// of path.Match, whose types are classes. Default: "", the type of package reqtrace/region. If
	// the trace has none of those, the known servers' requests count.
	Region string

	// Requests are functions that wait for work, by their full or short names in stacks, or
	// patterns of path.Match: main.(*pool).worker. A request lasts from one such wait to the next,
	// or for the goroutine's life if it begins with the function and never waits in it. Default:
	// none.
	Requests []string

	// Class limits the analysis to classes ([Request].Class), by a pattern of path.Match. "-"
	// stands for requests without a class. Default: "", all requests.
	Class string

	// Slowest is how many requests [Analyze] keeps with their path, up to 1000. Default: 0, which
	// is 20.
	Slowest int

	// Each is called with each whole request of Class, in the order of their ends, while [Analyze]
	// reads. Its Sites and Path are valid until Each returns. Default: nil.
	Each func(Request)

	// Beside is what the commands of this module see of the machine during the trace. Default: nil.
	Beside *cpuwatch.Beside

	// Yield makes Read work in its caller's goroutine, and is called after every few events.
	// Default: nil, which reads ahead in another goroutine.
	Yield func()
}

// The edges of a trace at which a request was cut off. Such a request has no breakdown.
const (
	CutStart = "start" // under way when the trace began
	CutEnd   = "end"   // under way when the trace ended
)

// Request is one request. Times count from the start of the trace.
type Request struct {
	ID        string        `json:"id,omitempty"` // as given to region.Start
	Goroutine int64         `json:"goroutine"`    // the one that served it
	Start     time.Duration `json:"start_ns"`
	End       time.Duration `json:"end_ns"`
	Cut       string        `json:"cut,omitempty"` // CutStart, CutEnd, or "" for a whole one

	// Clock is End by the traced process's clock, in nanoseconds. With Goroutine it identifies a
	// request in all traces. Began is Start by the wall clock, and zero before Go 1.25.
	Clock int64     `json:"-"`
	Began time.Time `json:"-"`

	// Caller is the id of the call that brought it, as region.Middleware found it, or "".
	Caller string `json:"caller,omitempty"`
	// Answered and Sent are when it first and last wrote to the client, if the trace shows that.
	// Answered needs Options.Each.
	Answered time.Duration `json:"-"`
	Sent     time.Duration `json:"-"`
	// Conn is the goroutine of the connection that brought it, or 0 if that is not known. Opened is
	// when it began, or 0 if that was before the trace. Both need Options.Each.
	Conn   int64         `json:"-"`
	Opened time.Duration `json:"-"`
	// Calls are those that it made through region.Transport, in order. If Options.Each is set, they
	// are also those of net/http's and gRPC's clients.
	Calls []Call `json:"calls,omitempty"`

	// Class is the route that region.Middleware found, the region's type if Options.Region is a
	// pattern, the function of Options.Requests, or the handler's function. "": not known.
	Class string `json:"class,omitempty"`

	// Ran is the function (file:line) in which the request ran most often, or "".
	Ran string `json:"-"`

	Parts Parts   `json:"parts_ns"` // they add up to End - Start
	Sites []Blame `json:"sites"`    // largest first, at most 8
	// Path is what its goroutine did, in order. Analyze sets it for the slowest.
	Path []Tile `json:"path"`
}

// MarshalJSON writes an empty list as [].
func (r Request) MarshalJSON() ([]byte, error) {
	type fields Request
	r.Sites, r.Path = notNil(r.Sites), notNil(r.Path)
	return json.Marshal(fields(r))
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Duration is the request's time in the server.
func (r *Request) Duration() time.Duration { return r.End - r.Start }

// own is the request's time without machine stalls.
func (r *Request) own() time.Duration { return r.Duration() - r.Parts.ns[CauseMachine] }

// Blame is a time at a place in the code. With [CauseStopped] Site is what the world was stopped
// for. With [CauseRunqueueBusy] there is only a holder.
type Blame struct {
	Cause Cause `json:"cause"`
	// the program's innermost function (file:line), or else a library's (file:line in MODULE)
	Site string `json:"site"`
	// what Site called: os.(*File).Sync, C.step
	Call string `json:"call,omitempty"`
	// a system call (fsync), a function of C, or a thing (mutex)
	Op string `json:"op,omitempty"`
	// the library's function in which the request or the holder sleeps
	Inside string `json:"inside,omitempty"`
	// if it is not Site, or where it waited for others
	Handler string `json:"handler,omitempty"`

	// The holder of what was waited for, at the root of the chain.

	// function that released or made it; with CauseRunqueueBusy, that ran longest
	Holder string `json:"holder,omitempty"`
	// an RWMutex's writer that waits for Holder, a reader; new readers wait behind it
	Writer  string `json:"writer,omitempty"`
	Doing   Cause  `json:"doing,omitzero"`     // what the holder did
	DoingAt string `json:"doing_at,omitempty"` // where; "": not known, or it ran
	DoingOp string `json:"doing_op,omitempty"` // Op at DoingAt

	Time time.Duration `json:"time_ns,omitzero"`
	// in one piece; of what is held, while a request waited
	Longest time.Duration `json:"longest_ns,omitzero"`
}

// Call is a call of another service, which may have the same ID as its Caller. Without
// region.Transport it has no ID. Sent, End, Conn and Opened are 0 if Options.Each is nil or the trace
// does not show them.
type Call struct {
	ID    string        `json:"id,omitempty"`
	Start time.Duration `json:"start_ns"`
	Sent  time.Duration `json:"-"`
	End   time.Duration `json:"end_ns,omitzero"` // the caller had the header of the answer
	// the goroutine that reads the connection
	Conn int64 `json:"conn,omitempty"`
	// when the caller began to open it, or 0 if that was before the trace
	Opened time.Duration `json:"-"`
}

// Tile is a piece of a request's time on its own goroutine. Its cause took most of it.
type Tile struct {
	Start time.Duration `json:"start_ns"`
	End   time.Duration `json:"end_ns"`
	Cause Cause         `json:"cause"`
	Site  string        `json:"site,omitempty"`

	// of the Blame that took most of it
	Op     string `json:"op,omitempty"`
	Holder string `json:"holder,omitempty"`
	Doing  Cause  `json:"doing,omitzero"`
}

type served struct {
	Request
	g       *goroutine
	seq     uint64 // of its turn
	marked  bool   // by a region
	asked   bool   // by Options.Requests
	class   siteID
	other   bool // not of Options.Class
	sites   []blameOf
	path    []tileOf
	samples []sampled
	ran     siteID
}

type tileOf struct {
	a, b  int64
	cause Cause
	site  siteID
	most  wait // zero: it has no place
}

func (r *served) out(m *model) Request {
	r.Sites, r.Path = nil, nil
	return r.fill(m)
}

// fill appends to Sites and Path.
func (r *served) fill(m *model) Request {
	sites, origin := m.sites, m.origin
	r.Clock, r.Began = origin+int64(r.End), m.wall(origin+int64(r.Start))
	for _, s := range r.sites {
		r.Sites = append(r.Sites, sites.blame(&s.wait, s.time, s.longest))
	}
	for _, t := range r.path {
		tile := Tile{Start: dur(t.a - origin), End: dur(t.b - origin), Cause: t.cause, Site: sites.name(t.site)}
		if t.most.cause == t.cause {
			tile.Op, tile.Holder, tile.Doing = sites.opOf(t.most.op, t.most.site), sites.name(t.most.holder),
				t.most.doing
		}
		r.Path = append(r.Path, tile)
	}
	r.Class, r.Ran = sites.name(r.class), sites.name(r.ran)
	return r.Request
}
