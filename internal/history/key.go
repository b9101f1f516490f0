package history

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// Others is the function and the class of what an hour counts together.
const Others = "(others)"

// Key says why a request was slow. It has no lines, so that it survives a deployment.
type Key struct {
	Cause    reqtrace.Cause `json:"cause"`
	Function string         `json:"function,omitempty"` // that waited, or in which the request ran
	Holder   string         `json:"holder,omitempty"`   // that had what was waited for
	Class    string         `json:"class,omitempty"`
	// Such as "stock/prices": it waited for stock, which waited for prices. Cause, Function and
	// Holder are of the last one's request ([Request.WaitsFor]).
	Services string `json:"services,omitempty"`
}

func (k Key) in(class string) Key {
	k.Class = class
	return k
}

func (k Key) anyClass() Key { return k.in("") }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Holder, b.Holder),
		cmp.Compare(a.Class, b.Class), cmp.Compare(a.Services, b.Services))
}

type Request struct {
	ID   string `json:"id"`
	Mark string `json:"mark,omitempty"` // its id, as region.Start got it

	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`

	// it began before the trace, so its cause is not known
	Cut bool `json:"cut,omitempty"`

	Key  Key           `json:"key"`
	Lost time.Duration `json:"lost_ns"` // beyond the usual request

	// such as "waiting for a mutex that main.refresh (main.go:43) holds, in main.get (main.go:33)"
	Words       string `json:"words,omitempty"`
	Place       string `json:"place,omitempty"`
	HolderPlace string `json:"holder_place,omitempty"`
	Breakdown   string `json:"breakdown,omitempty"`
	Snapshot    string `json:"snapshot,omitempty"`
	Build       string `json:"build,omitempty"`
	TraceID     string `json:"trace_id,omitempty"`

	// If [Trace.Calls] asks for them: the id of the call that brought the
	// request, and its own calls in order.
	Caller string `json:"-"`
	Calls  []Call `json:"-"`
}

// Call is a call of another service. That one's request has the ID as its Caller.
type Call struct {
	ID    string
	After time.Duration // the start of the request
}

// WaitsFor makes r a request that waited for x, a request of the last of these services. Each
// service is called by the one before it.
func (r *Request) WaitsFor(services []string, x *Request) {
	class := r.Key.Class
	r.Key = x.Key
	r.Key.Class, r.Key.Services = class, strings.Join(services, "/")
	r.Place, r.HolderPlace = x.Place, x.HolderPlace
	last := services[len(services)-1]
	of := textfmt.Duration(x.Duration)
	if x.Snapshot != "" {
		of += " there, snapshot " + x.Snapshot + " of " + last
	}
	r.Words = fmt.Sprintf("waiting for %s (%s): %s", through(r.Key.Services), of, x.Words)
}

// through returns "prices, through stock" for "stock/prices".
func through(services string) string {
	names := strings.Split(services, "/")
	t := names[len(names)-1]
	for _, name := range names[:len(names)-1] {
		t += ", through " + name
	}
	return t
}

// compareWorst puts the worst request first. Requests are the same if all of this is, so a merge
// does not depend on its order.
func compareWorst(a, b *Request) int {
	return cmp.Or(
		cmp.Compare(b.Duration, a.Duration), cmp.Compare(b.Lost, a.Lost), a.Start.Compare(b.Start),
		cmp.Compare(a.ID, b.ID), cmp.Compare(a.Build, b.Build), cmp.Compare(a.Snapshot, b.Snapshot),
	)
}

const maxText = 512

func (r Request) bounded() Request {
	for _, s := range []*string{
		&r.ID, &r.Mark, &r.Words, &r.Place, &r.HolderPlace, &r.Breakdown, &r.Snapshot,
		&r.Build, &r.TraceID, &r.Caller,
	} {
		*s = shorten(*s)
	}
	r.Key, r.Start = r.Key.bounded(), wallClock(r.Start)
	r.Duration, r.Lost = boundedTime(r.Duration), boundedTime(r.Lost)
	return r
}

func (k Key) bounded() Key {
	return Key{
		Cause: k.Cause, Function: shorten(k.Function), Holder: shorten(k.Holder), Class: shorten(k.Class),
		Services: shorten(k.Services),
	}
}

func boundedTime(d time.Duration) time.Duration { return min(max(d, 0), maxTime) }

// wallClock returns t as it is kept. A year that JSON cannot write becomes the zero time.
func wallClock(t time.Time) time.Time {
	if t = t.Round(0).UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

func shorten(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "")
}
