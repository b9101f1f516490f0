package reqtrace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoRequests is the error of a trace without requests.
var ErrNoRequests = errors.New("reqtrace: the trace has no requests that are known without marks (HTTP, gRPC): " +
	"take it under load, name the function that waits for work (Options.Requests), wrap the handlers with " +
	"region.Middleware (evenkeel.dev/reqtrace/region), or name the program's own regions (Options.Region)")

// NoRequestsError is the [ErrNoRequests] that [Read] and [Analyze] return.
type NoRequestsError struct {
	// likeliest first, at most 8; none: nothing waited again and again
	Candidates []Candidate
}

// Candidate is a function that may have waited for work.
type Candidate struct {
	Func  string // for Options.Requests
	Waits int    // how often it waited for the network, a channel, a condition or a time
}

const (
	maxCandidates  = 8
	leastWaits     = 3
	leastWaitShare = .01 // of the first candidate's
)

// Is reports whether target is ErrNoRequests.
func (e *NoRequestsError) Is(target error) bool { return target == ErrNoRequests }

// Error has a line for each candidate.
func (e *NoRequestsError) Error() string {
	var b strings.Builder
	b.WriteString(ErrNoRequests.Error())
	if len(e.Candidates) > 0 {
		b.WriteString("; these waited again and again:")
	}
	for _, c := range e.Candidates {
		fmt.Fprintf(&b, "\n  %s (%d times)", c.Func, c.Waits)
	}
	return b.String()
}

// waited counts a wait that may have been for work.
func (s *sites) waited(g *goroutine, to state, reason string, info *stackInfo) {
	if info.candidate == 0 || g.way == wayLife || !mayBeForWork(to, reason, info) {
		return
	}
	if n := int(info.candidate) + 1; n > len(s.forWork) {
		s.forWork = append(s.forWork, make([]int, n-len(s.forWork))...)
	}
	s.forWork[info.candidate]++
}

func (s *sites) noRequests() error {
	var list []Candidate
	for id, n := range s.forWork {
		if n >= leastWaits {
			list = append(list, Candidate{s.name(siteID(id)), n})
		}
	}
	slices.SortFunc(list, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Waits, a.Waits), cmp.Compare(a.Func, b.Func))
	})
	for i := range list {
		if i == maxCandidates || float64(list[i].Waits) < leastWaitShare*float64(list[0].Waits) {
			list = list[:i]
			break
		}
	}
	return &NoRequestsError{list}
}

// missing returns the patterns of Options.Requests that no function matches.
func (s *sites) missing() (list []string) {
	for i, met := range s.met {
		if !met {
			list = append(list, s.asked[i])
		}
	}
	return list
}
