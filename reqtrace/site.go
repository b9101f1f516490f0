package reqtrace

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/exp/trace"
)

// siteID is a place in the code: an index of sites.names; 0 is none.
type siteID uint32

// sites knows the stacks of a trace by their place in the code. A stack is looked at once in each
// generation of the trace: the reader's handles do not outlive it.
type sites struct {
	names  []string // function (file:line)
	byName map[string]siteID
	cache  map[trace.Stack]stackInfo
	recent [8]knownStack // of cache: the same few again and again
	next   int           // of recent
}

type knownStack struct {
	stack trace.Stack
	info  stackInfo
}

// stackInfo is what matters of a stack.
type stackInfo struct {
	site  siteID // its innermost function outside of the standard library, or of the runtime
	entry siteID // the function that the goroutine began with
	cgo   bool
	gc    bool // in the allocator, for the collector: assists, or starts or ends a cycle
	sweep bool // the runtime's background sweeper
	serve bool // a connection of net/http's server
	// Within it:
	handler bool // in the handler
	peek    bool // waits for the next request
	header  bool // reads a request's header
	answer  bool // writes to the client
}

func newSites() *sites {
	return &sites{names: []string{""}, byName: map[string]siteID{"": 0}, cache: map[trace.Stack]stackInfo{}}
}

func (s *sites) name(id siteID) string { return s.names[id] }

func (s *sites) intern(name string) siteID {
	id, ok := s.byName[name]
	if !ok {
		id = siteID(len(s.names))
		s.names = append(s.names, name)
		s.byName[name] = id
	}
	return id
}

// forget empties the cache: a generation of the trace has ended.
func (s *sites) forget() {
	clear(s.cache)
	clear(s.recent[:])
}

func (s *sites) look(stack trace.Stack) stackInfo {
	if stack == trace.NoStack {
		return stackInfo{}
	}
	for i := range s.recent {
		if s.recent[i].stack == stack {
			return s.recent[i].info
		}
	}
	info, ok := s.cache[stack]
	if !ok {
		info = s.read(stack)
		s.cache[stack] = info
	}
	s.recent[s.next] = knownStack{stack, info}
	s.next = (s.next + 1) % len(s.recent)
	return info
}

func (s *sites) read(stack trace.Stack) (info stackInfo) {
	const none, inRuntime, inStd, inProgram = 0, 1, 2, 3
	best, place, entry := none, "", ""
	for f := range stack.Frames() {
		kind := inProgram
		switch root := pathRoot(f.Func); {
		case root == "runtime" || root == "sync" || root == "internal":
			kind = inRuntime
		case stdRoots[root]:
			kind = inStd
		}
		if kind > best {
			best = kind
			place = fmt.Sprintf("%s (%s:%d)", shortFunc(f.Func), path.Base(f.File), f.Line)
		}
		switch f.Func {
		case "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.gcMarkDone":
			info.gc = true
		case "runtime.bgsweep":
			info.sweep = true
		case "runtime.cgocall":
			info.cgo = true
		case "net/http.(*conn).serve":
			info.serve = true
		case "net/http.serverHandler.ServeHTTP":
			info.handler = true
		case "bufio.(*Reader).Peek":
			info.peek = true
		case "net/http.(*conn).readRequest":
			info.header = true
		case "net/http.checkConnErrorWriter.Write":
			info.answer = true
		}
		if f.Func != "runtime.goexit" && f.Func != "runtime.main" {
			entry = shortFunc(f.Func)
		}
	}
	info.site, info.entry = s.intern(place), s.intern(entry)
	return info
}

// shortFunc drops the path of a function's package, not its name.
func shortFunc(f string) string { return f[strings.LastIndexByte(f, '/')+1:] }
