package reqtrace

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"evenkeel.dev"
)

// role is what a function on a goroutine's stack says about the goroutine.
type role uint32

const (
	roleLife role = 1 << iota // one request in its life
	// a request from one wait for work to the next
	roleWorker
	roleAsked
	roleStreams  // a connection with a goroutine for each stream
	roleMeasures // it answers with a trace, a profile or a status page
	roleReads
	roleWrites
	roleCloses
	roleLocks
	roleUnlocks

	roleConn
	roleHandler
	rolePeek   // it waits for the next request
	roleHeader // it reads a request's header
	roleAnswer // it writes to the client

	// Of a client:
	roleCalls    // it waits for an answer, or for a stream's header
	roleReadLoop // it reads a connection of many calls
	roleSelects
	roleSends    // it sends a request of HTTP/2
	roleConnects // it opens a connection

	// Of the runtime:
	roleGC // it allocates, and works or waits for the collector
	roleSweep
	roleBeat // it sleeps for beatPeriod
)

func (i *stackInfo) has(r role) bool { return i.roles&r != 0 }

// between reports whether an HTTP/1 connection is between two requests.
func (i *stackInfo) between() bool {
	return i.has(roleConn) && !i.has(roleHandler) && i.has(rolePeek|roleHeader)
}

var entries = map[string]role{
	// server.go; without a free worker, serveStreams starts a goroutine for each stream
	// (entryPrefixes)
	"google.golang.org/grpc.(*Server).serverWorker": roleWorker,

	"net/rpc.(*service).call": roleLife,

	"evenkeel.dev/reqtrace/recorder.(*Recorder).ServeHTTP": roleMeasures,
	"evenkeel.dev/gcgate/httpgate.Status.func1":            roleMeasures,
	"evenkeel.dev/gcgate/health.(*Handler).ServeHTTP":      roleMeasures,

	"net.(*conn).Close": roleCloses,
	"net.sendFile":      roleWrites,

	"net/http.(*conn).serve":              roleConn,
	"net/http.serverHandler.ServeHTTP":    roleHandler,
	"bufio.(*Reader).Peek":                rolePeek,
	"net/http.(*conn).readRequest":        roleHeader,
	"net/http.checkConnErrorWriter.Write": roleAnswer,

	"net/http.(*persistConn).roundTrip": roleCalls,
	"net/http.(*persistConn).readLoop":  roleReadLoop,
	"syscall.Connect":                   roleConnects,
	"runtime.selectgo":                  roleSelects,

	// http2_client.go; Stream up to 1.68, and ClientStream later
	"google.golang.org/grpc/internal/transport.(*Stream).waitOnHeader":       roleCalls,
	"google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader": roleCalls,
	"google.golang.org/grpc/internal/transport.(*http2Client).reader":        roleReadLoop,

	"runtime.gcAssistAlloc":           roleGC,
	"runtime.gcStart":                 roleGC,
	"runtime.gcMarkDone":              roleGC,
	"runtime.bgsweep":                 roleSweep,
	"runtime.traceStartReadCPU.func1": roleBeat,
	"runtime/pprof.profileWriter":     roleBeat,
}

// entriesHTTP2 are methods of the packages in prefixesHTTP2.
var entriesHTTP2 = map[string]role{
	"serverConn).runHandler":  roleLife,
	"serverConn).serve":       roleStreams,
	"ClientConn).roundTrip":   roleCalls,
	"ClientConn).readLoop":    roleReadLoop,
	"clientStream).doRequest": roleSends,
}

// HTTP/2 is in src/net/http/h2_bundle.go up to Go 1.26, and in src/net/http/internal/http2 later. The
// h2c of golang.org/x/net takes connections from net/http.
var prefixesHTTP2 = []string{"net/http.(*http2", "net/http/internal/http2.", "golang.org/x/net/http2."}

// entryPrefixes are names that differ between releases, such as those of closures.
var entryPrefixes = map[string]role{
	"google.golang.org/grpc.(*Server).serveStreams.func": roleLife, // func1.1, func1.2 or func2.1
	"net/http/pprof.":      roleMeasures,
	"net.(*netFD).Read":    roleReads,
	"net.(*netFD).read":    roleReads,
	"net.(*rawConn).Read":  roleReads,
	"net.(*netFD).Write":   roleWrites,
	"net.(*netFD).write":   roleWrites,
	"net.(*rawConn).Write": roleWrites,
}

func (s *sites) roleOf(f *frame) role {
	if known, ok := s.roles[f.Func]; ok {
		return known
	}
	known := entries[f.Func]
	for prefix, r := range entryPrefixes {
		if strings.HasPrefix(f.Func, prefix) {
			known |= r
		}
	}
	for _, p := range prefixesHTTP2 {
		if method, ok := strings.CutPrefix(f.Func, p); ok {
			known |= entriesHTTP2[strings.TrimPrefix(method, "(*")]
		}
	}
	if f.owner == ownerLibrary {
		switch {
		case strings.HasSuffix(f.Func, sqliteLocks):
			known |= roleLocks
		case strings.HasSuffix(f.Func, sqliteUnlocks):
			known |= roleUnlocks
		}
	}
	for i, pattern := range s.asked {
		if matches(pattern, f.Func) || matches(pattern, shortFunc(f.Func)) {
			known |= roleAsked
			s.met[i] = true
		}
	}
	s.roles[f.Func] = known
	return known
}

func matches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func checkRequests(patterns []string) error {
	const how = "write a function as stacks have it, such as main.(*pool).worker, " +
		"or a pattern of path.Match: *.(*pool).work*"
	for _, p := range patterns {
		if _, err := path.Match(p, ""); p == "" || errors.Is(err, path.ErrBadPattern) {
			return evenkeel.NewOptionError("reqtrace.Options", "Requests",
				"%q is not a pattern of functions; %s", p, how)
		}
	}
	return nil
}

func (s *sites) serving(info *stackInfo) {
	most, candidate := ownerRuntime, ""
	for i := range s.frames {
		f := &s.frames[i]
		known := s.roleOf(f)
		info.roles |= known
		switch {
		case known&roleAsked != 0 && info.task == 0:
			info.task, info.own = s.intern(shortFunc(f.Func)), f.owner == ownerProgram
			info.work = most < ownerProgram
		case known&roleWorker != 0 && info.task == 0:
			info.work = most == ownerRuntime
		}
		switch {
		case f.owner == ownerProgram && most < ownerProgram:
			candidate = f.Func
		case f.owner == ownerLibrary && most <= ownerLibrary && !isClosure(f.Func):
			candidate = f.Func
		}
		most = max(most, f.owner)
		if i == len(s.frames)-1 {
			info.life = known&(roleLife|roleAsked) != 0
		}
	}
	info.program = most == ownerProgram
	if candidate != "" {
		info.candidate = s.intern(shortFunc(candidate))
	}
}

func isClosure(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasPrefix(last, "func") || strings.HasPrefix(last, "gowrap") ||
		strings.Trim(last, "0123456789") == ""
}

const noRequests = "reqtrace: the trace has no requests that are known without marks (HTTP, gRPC): " +
	"take it under load, name the function that waits for work (Options.Requests), wrap the handlers with " +
	"region.Middleware (evenkeel.dev/reqtrace/region), or name the program's own regions (Options.Region)"

// NoRequestsError is the error of a trace without requests.
type NoRequestsError struct {
	// functions for Options.Requests that waited again and again, likeliest first, at most 8
	Candidates []string
}

const (
	maxCandidates  = 8
	leastWaits     = 3
	leastWaitShare = .01 // of the first candidate's
)

// Error has a line for each candidate.
func (e *NoRequestsError) Error() string {
	if len(e.Candidates) == 0 {
		return noRequests
	}
	return noRequests + "; these waited again and again:\n  " + strings.Join(e.Candidates, "\n  ")
}

func (s *sites) noRequests() error {
	ids := slices.SortedFunc(maps.Keys(s.forWork), func(a, b siteID) int {
		return cmp.Or(cmp.Compare(s.forWork[b], s.forWork[a]), cmp.Compare(s.name(a), s.name(b)))
	})
	e := &NoRequestsError{}
	for _, id := range ids[:min(len(ids), maxCandidates)] {
		n, most := s.forWork[id], s.forWork[ids[0]]
		if n >= leastWaits && float64(n) >= leastWaitShare*float64(most) {
			e.Candidates = append(e.Candidates, s.name(id))
		}
	}
	return e
}

func (s *sites) missing() (list []string) {
	for i, met := range s.met {
		if !met {
			list = append(list, s.asked[i])
		}
	}
	return list
}
