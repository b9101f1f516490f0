package reqtrace

import (
	"errors"
	"path"
	"strings"

	"evenkeel.dev"
)

// role is what a function's name says about a goroutine that has it on its stack.
type role uint16

const (
	roleLife role = 1 << iota // a goroutine that begins with it serves one request, from its creation to its end
	// it waits for work in its own body; what its goroutine does between two such waits is a request
	roleWorker
	roleAsked    // Options.Requests names it
	roleStreams  // it serves a connection of many streams, each of which has a goroutine of its own
	roleMeasures // it answers with a trace, a profile or a status page: no user waits for it
	roleReads    // it reads from a connection
	roleWrites   // it writes to a connection
	roleCloses   // it closes a connection
	roleLocks    // it takes SQLite's lock
	roleUnlocks  // it releases SQLite's lock
)

// entries are the functions of servers that tell requests without a mark. Where a server starts a goroutine for each
// request, its life is the request; a worker that is handed requests serves one from a wait for work to the next.
// HTTP/1 is not here: a connection's goroutine serves one request after the other (package files turn.go and phase.go).
var entries = map[string]role{
	// HTTP/2 of the standard library: src/net/http/h2_bundle.go up to Go 1.26,
	// src/net/http/internal/http2/server.go from Go 1.27 on ("go sc.runHandler" in processHeaders,
	// scheduleHandler and upgradeRequest).
	"net/http.(*http2serverConn).runHandler":           roleLife,
	"net/http.(*http2serverConn).serve":                roleStreams,
	"net/http/internal/http2.(*serverConn).runHandler": roleLife,
	"net/http/internal/http2.(*serverConn).serve":      roleStreams,

	// HTTP/2 of golang.org/x/net: http2/server.go, likewise. Its h2c serves on a connection that it
	// takes from net/http.
	"golang.org/x/net/http2.(*serverConn).runHandler": roleLife,
	"golang.org/x/net/http2.(*serverConn).serve":      roleStreams,

	// gRPC, google.golang.org/grpc/server.go: serverWorker receives streams from a channel (NumStreamWorkers); without
	// workers, and where all of them are busy, serveStreams starts a goroutine for each (entryPrefixes).
	"google.golang.org/grpc.(*Server).serverWorker": roleWorker,

	// net/rpc, src/net/rpc/server.go: ServeCodec starts "go service.call" for each call.
	"net/rpc.(*service).call": roleLife,

	// net/http/pprof, src/net/http/pprof/pprof.go, and pages of this module.
	"net/http/pprof.Trace":                                 roleMeasures,
	"net/http/pprof.Profile":                               roleMeasures,
	"net/http/pprof.Index":                                 roleMeasures,
	"net/http/pprof.Cmdline":                               roleMeasures,
	"net/http/pprof.Symbol":                                roleMeasures,
	"net/http/pprof.handler.ServeHTTP":                     roleMeasures,
	"evenkeel.dev/reqtrace/recorder.(*Recorder).ServeHTTP": roleMeasures,
	"evenkeel.dev/gcgate/httpgate.Status.func1":            roleMeasures,
	"evenkeel.dev/gcgate/health.(*Handler).ServeHTTP":      roleMeasures,

	// package net: src/net/net.go, rawconn.go, sendfile.go.
	"net.(*conn).Close": roleCloses,
	"net.sendFile":      roleWrites,
}

// entryPrefixes are likewise of functions whose names differ from release to release, as those of closures do.
var entryPrefixes = []struct {
	prefix string
	role   role
}{
	{"google.golang.org/grpc.(*Server).serveStreams.func", roleLife}, // func1.1, func1.2 or func2.1
	{"net.(*netFD).Read", roleReads},
	{"net.(*netFD).read", roleReads},
	{"net.(*rawConn).Read", roleReads},
	{"net.(*netFD).Write", roleWrites},
	{"net.(*netFD).write", roleWrites},
	{"net.(*rawConn).Write", roleWrites},
}

// function is what is known of one by its name and file.
type function struct {
	role  role
	owner owner
}

// function returns what is known of a frame's function. A trace has the same few thousands again and again.
func (s *sites) function(f *frame) function {
	if known, ok := s.functions[f.Func]; ok {
		return known
	}
	known := function{role: entries[f.Func], owner: f.owner}
	for _, p := range entryPrefixes {
		if strings.HasPrefix(f.Func, p.prefix) {
			known.role |= p.role
		}
	}
	if f.owner == ownerLibrary {
		switch {
		case strings.HasSuffix(f.Func, sqliteLocks):
			known.role |= roleLocks
		case strings.HasSuffix(f.Func, sqliteUnlocks):
			known.role |= roleUnlocks
		}
	}
	for i, pattern := range s.asked {
		if matches(pattern, f.Func) || matches(pattern, shortFunc(f.Func)) {
			known.role |= roleAsked
			s.met[i] = true
		}
	}
	s.functions[f.Func] = known
	return known
}

// matches reports whether name is, or matches as path.Match does, a pattern.
func matches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// checkRequests returns the error of patterns that no function can match.
func checkRequests(patterns []string) error {
	const how = "write a function as stacks have it, such as main.(*pool).worker, or a pattern of path.Match: *.(*pool).work*"
	for _, p := range patterns {
		if _, err := path.Match(p, ""); p == "" || errors.Is(err, path.ErrBadPattern) {
			return evenkeel.NewOptionError("reqtrace.Options", "Requests", "%q is no pattern of functions; %s", p, how)
		}
	}
	return nil
}

// serving fills in what s.frames, a stack from the inside, says about requests.
func (s *sites) serving(info *stackInfo) {
	most, candidate := ownerRuntime, ""
	for i := range s.frames {
		f := &s.frames[i]
		known := s.function(f)
		info.roles |= known.role
		switch {
		case known.role&roleAsked != 0 && info.task == 0:
			info.task, info.own = s.intern(shortFunc(f.Func)), known.owner == ownerProgram
			info.work = most < ownerProgram
		case known.role&roleWorker != 0 && info.task == 0:
			info.work = most == ownerRuntime
		}
		switch {
		case known.owner == ownerProgram && most < ownerProgram:
			candidate = f.Func
		case known.owner == ownerLibrary && most <= ownerLibrary && !isClosure(f.Func):
			candidate = f.Func
		}
		most = max(most, known.owner)
		if i == len(s.frames)-1 {
			info.life = known.role&(roleLife|roleAsked) != 0
		}
	}
	info.program = most == ownerProgram
	if candidate != "" {
		info.candidate = s.intern(shortFunc(candidate))
	}
}

// isClosure reports whether a function is a literal in another one: its name ends in .func1, .gowrap1 or the like.
func isClosure(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasPrefix(last, "func") || strings.HasPrefix(last, "gowrap") ||
		strings.Trim(last, "0123456789") == ""
}
