package reqtrace

import (
	"encoding/json"
	"time"

	"evenkeel.dev/internal/enum"
)

// Options configure [Read] and [Analyze]. The zero value works.
type Options struct {
	// Region is the type of the regions that are requests (runtime/trace.StartRegion). Default:
	// "", which is that of package reqtrace/region; where the trace has none of those, requests
	// are what the goroutines of servers do that are known (see the package's comment). A pattern of path.Match: all
	// types that it matches, each a class of its own.
	Region string

	// Requests are functions that wait for work, by their full or short names as stacks have them
	// (main.(*pool).worker), or patterns of path.Match over these. What a goroutine does from one such wait
	// to the next is a request, beside those that are known without: the function is on the stack, nothing of
	// the program's own lies inward of it, and it is no wait for a mutex or to write to a connection. A goroutine
	// that begins with it and never waits so is a request from its creation to its end. Work that was there already,
	// so that nobody waited for it, belongs to the request before it. Default: none.
	Requests []string

	// Class has Analyze and Read look at the requests of one class alone ([Request].Class), or of all that this
	// pattern of path.Match matches; [noClass]: of those without one. Default: "", all requests.
	Class string

	// Slowest is how many requests [Analyze] keeps with their path. Default: 0, which is 20;
	// limits: 1 to 1000.
	Slowest int

	// Beside is what a process on the traced one's machine saw meanwhile. Default: nil, which is nothing. Where
	// the trace says what the wall clock was (Go 1.25 and later), a late heartbeat helps to tell a machine that stood
	// still from code that cannot be interrupted.
	Beside *Beside

	// Yield makes Read work only in its caller's goroutine. Read calls it after every few events,
	// so that a service that reads its own trace can give way to its requests. Default: nil, which
	// reads ahead in another goroutine.
	Yield func()
}

// Cut says at which edge of the trace a request was cut off.
type Cut uint8

// The edges. A request that is cut has no breakdown.
const (
	CutNone  Cut = iota
	CutStart     // it was under way when the trace began
	CutEnd       // it was under way when the trace ended
)

var cutNames = enum.Of[Cut]("reqtrace", "an edge", "whole", "start", "end")

func (c Cut) String() string { return cutNames.String(c) }

// MarshalText returns the edge's name. It fails for another value.
func (c Cut) MarshalText() ([]byte, error) { return cutNames.Marshal(c) }

// UnmarshalText reads what MarshalText wrote.
func (c *Cut) UnmarshalText(text []byte) error { return cutNames.Parse(text, c) }

// Request is one request. Times count from the start of the trace.
type Request struct {
	ID        string        `json:"id,omitempty"` // that region.Start was given
	Goroutine int64         `json:"goroutine"`    // that served it
	Start     time.Duration `json:"start_ns"`
	End       time.Duration `json:"end_ns"`
	Cut       Cut           `json:"cut,omitzero"`

	// Clock is End by the clock of the traced process, in nanoseconds: with Goroutine it tells a
	// request from others of the process, also in another trace of the same time. Began is Start by
	// the wall clock; zero: the trace does not say (before Go 1.25).
	Clock int64     `json:"-"`
	Began time.Time `json:"-"`

	// Class is of what kind it is: the route that region.Middleware tells, the region's type where Options.Region is
	// a pattern, the program's own function that Options.Requests names, else the handler's function; "": no stack of
	// it was seen in its handler, as one that never waited there leaves none but a CPU profile's samples.
	Class string `json:"class,omitempty"`

	// Ran is the function (file:line) in which the request ran most often. It comes from the
	// samples of a CPU profile and from where the request was preempted, which happens every 10 ms.
	// "": none.
	Ran string `json:"-"`

	Parts Parts   `json:"parts_ns"` // of End - Start, to the nanosecond
	Sites []Blame `json:"sites"`    // where in the code its waits and assists were, largest first, at most 8
	// of the goroutine that served it, in order; [Read] sets it, Analyze keeps it for the slowest
	Path []Tile `json:"path"`
}

// MarshalJSON writes lists, also where they are empty.
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

// own is the request's time, less what the machine stood still.
func (r *Request) own() time.Duration { return r.Duration() - r.Parts.ns[CauseMachine] }

// Blame is a time at a place in the code: where the request waited or assisted, and for [CauseStopped] what the
// world was stopped for. Of [CauseRunqueueBusy] there is the holder alone.
type Blame struct {
	Cause Cause `json:"cause"`
	// function (file:line): the program's innermost; where it has none there, a library's (file:line in MODULE)
	Site string `json:"site"`
	// the function that Site called: os.(*File).Sync, rate.(*Limiter).Wait, C.step
	Call string `json:"call,omitempty"`
	// what was asked for: a system call by its name (fsync), C's function, or what was waited for
	// (mutex, rate limiter, connection pool)
	Op string `json:"op,omitempty"`
	// function (file:line in MODULE) of the library that sleeps, if Site is the program's: of
	// CauseSleep, also of a holder's sleep
	Inside string `json:"inside,omitempty"`
	// function (file:line) of the request's handler, where Site is another; where others worked for
	// the request and no handler is known, where it waited for them
	Handler string `json:"handler,omitempty"`

	// Who had what was waited for, at the root of the chain of those that waited for each other.
	Holder string `json:"holder,omitempty"` // function (file:line) that held it, or made it, by where it let go; of CauseRunqueueBusy who ran instead, for longest
	// function (file:line) of a writer that waits for Holder, a reader of an RWMutex; new readers wait behind it
	Writer  string `json:"writer,omitempty"`
	Doing   Cause  `json:"doing,omitzero"`     // what the holder did meanwhile; CauseUnknown: not known
	DoingAt string `json:"doing_at,omitempty"` // function (file:line) where it did so; "": not known, or it ran
	DoingOp string `json:"doing_op,omitempty"` // as Op, of DoingAt

	Time time.Duration `json:"time_ns"`
	// of it at a stretch; of what was held, from acquiring to releasing, as far as a request
	// waited; in a Band: in any request, and no longer than its slowest
	Longest time.Duration `json:"longest_ns,omitzero"`
}

// Tile is a piece of a request's time on the goroutine that served it. A wait has the cause that
// took most of it.
type Tile struct {
	Start time.Duration `json:"start_ns"`
	End   time.Duration `json:"end_ns"`
	Cause Cause         `json:"cause"`
	Site  string        `json:"site,omitempty"`

	// As of a Blame, of what took most of it.
	Op     string `json:"op,omitempty"`
	Holder string `json:"holder,omitempty"`
	Doing  Cause  `json:"doing,omitzero"`
}

// served is a request with its places and path as the model knows them.
type served struct {
	Request
	class   siteID
	other   bool      // than those that are asked for: its class is another one
	sites   []blameOf // largest first, at most maxSites
	path    []tileOf
	samples []sampled // of running, by place
	ran     siteID
}

type tileOf struct {
	a, b  int64
	cause Cause
	site  siteID
	most  wait // that took most of it at a stretch; zero: it has no place
}

// out fills in what users see of the places and the path.
func (r *served) out(m *model) Request {
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
