package replicas

import (
	"cmp"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// A slow request of a service that waited for another one's slow request has the cause of that one:
//
//	shop   ├── calls 7f.. ── network ──────────────┤    waiting for store, through stock: a lock
//	stock      ├── caller 7f.., calls 31.. ─────┤       waiting for store: a lock
//	store          ├── caller 31.., a lock ──┤          a lock
const (
	clocksDiffer = 10 * time.Minute // at most, between hosts; ids may come again later
	maxSame      = 256              // requests with the same caller, which otherwise says too little
	maxChain     = 16               // requests; with more they go round in a circle
)

type requestID struct {
	replica int
	id      string
}

// request is a slow request that is whole, with its own cause.
type request struct {
	*history.Request
	service string
	waited  *request // that it waited for, or nil
}

type joiner struct {
	requests map[requestID]*request // several snapshots may have one
	callees  map[string][]*request  // by their callers
}

// join changes what the requests of services say that waited for each other.
func join(answers []answer) {
	j := joiner{map[requestID]*request{}, map[string][]*request{}}
	for i, a := range answers {
		for _, x := range a.kept.analysed {
			for _, q := range x.found.Slow {
				id := requestID{i, q.ID}
				if q.Cut || j.requests[id] != nil {
					continue
				}
				r := &request{Request: &q, service: a.service}
				j.requests[id] = r
				if q.Caller != "" {
					j.callees[q.Caller] = append(j.callees[q.Caller], r)
				}
			}
		}
	}
	for _, r := range j.requests {
		r.waited = j.waited(r)
	}
	for i, a := range answers {
		for _, x := range a.kept.analysed {
			for k := range x.found.Slow {
				q := &x.found.Slow[k]
				if r := j.requests[requestID{i, q.ID}]; r != nil && !q.Cut {
					r.explain(q)
				}
			}
		}
		a.kept.addAgain()
	}
}

// explain gives q, a copy of r, the cause of the last request in the chain that r waits for.
func (r *request) explain(q *history.Request) {
	var services []string
	last := r
	for last.waited != nil {
		if last = last.waited; len(services) == maxChain {
			return
		}
		services = append(services, last.service)
	}
	if last != r {
		q.WaitsFor(services, last.Request)
	}
}

// waited returns the longest request of the service that r waited for most, or nil if that is
// little of what r lost.
func (j *joiner) waited(r *request) *request {
	type service struct {
		time, until time.Duration // after the start of r
		lost        time.Duration // of time, by the callees' causes
		longest     *request
	}
	services := map[string]*service{}
	used := map[*request]bool{}
	for _, c := range r.Calls {
		for name, x := range j.called(r, c, used) {
			used[x] = true
			s := services[name]
			if s == nil {
				s = &service{longest: x}
				services[name] = s
			}
			end := min(c.After+x.Duration, r.Duration)
			took := max(end-max(c.After, s.until), 0)
			s.time += took
			s.lost += min(x.Lost, took)
			s.until = max(s.until, end)
			if x.Duration > s.longest.Duration {
				s.longest = x
			}
		}
	}
	var most *service
	for _, s := range services {
		if most == nil || cmp.Or(cmp.Compare(s.time, most.time),
			cmp.Compare(most.longest.service, s.longest.service)) > 0 {
			most = s
		}
	}
	if most == nil || most.time < r.least() || most.lost < r.Lost/4 {
		return nil // a service that always takes that long is not why r is slow
	}
	return most.longest
}

// least returns for how long calls of a service must take to be why r is slow.
func (r *request) least() time.Duration {
	switch r.Key.Cause {
	case reqtrace.CauseNetwork:
		return r.Lost / 2
	case reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseSleep:
		// With less, half of this wait or more may be at other times than the calls, such as in a
		// pause between them.
		return r.Duration - r.Lost/2
	}
	return r.Duration + 1 // it did not wait
}

// called returns the request of each service that a call may have become. If there are several, it
// is the one that began closest to the call.
func (j *joiner) called(r *request, c history.Call, used map[*request]bool) map[string]*request {
	list := j.callees[c.ID]
	if len(list) > maxSame {
		return nil
	}
	at := r.Start.Add(c.After)
	closest := map[string]*request{}
	for _, x := range list {
		// Services that pass on a header have one id for all calls below, so x may be above r, or
		// r itself.
		above := c.ID == r.Caller && (x.service == r.service || x.Duration > r.Duration)
		if above || used[x] || x.Start.Sub(at).Abs() > clocksDiffer {
			continue
		}
		if old := closest[x.service]; old == nil || x.Start.Sub(at).Abs() < old.Start.Sub(at).Abs() {
			closest[x.service] = x
		}
	}
	return closest
}
