package reqtrace

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/exp/trace"
)

// place is a stack's part of a [Blame].
type place struct {
	site    string
	call    string
	op      string
	handler string
	owner   owner
	reader  bool // op is an RWMutex, for reading
	stops   bool
}

// owner says to whom a function belongs. Higher ones say why something is done, lower ones how.
type owner uint8

const (
	ownerRuntime owner = iota // with sync and internal packages
	ownerStd
	ownerShim    // thin layers over system calls and C
	ownerLibrary // a required module
	ownerProgram
)

type frame struct {
	trace.StackFrame
	owner owner
}

// ownerOf says to whom a function belongs. The path of a required module has its version, also
// after go build -trimpath.
func ownerOf(f *trace.StackFrame) owner {
	root := pathRoot(f.Func)
	switch {
	case hasAnyPrefix(f.Func, markers): // also if go.mod replaces them
		return ownerLibrary
	// an assembly function without a package
	case root == "runtime", root == "sync", root == "internal", root == f.Func:
		return ownerRuntime
	case stdRoots[root]:
		return ownerStd
	case strings.Contains(f.Func, cFunction), strings.HasPrefix(f.Func, "golang.org/x/sys/"),
		strings.HasPrefix(f.Func, "modernc.org/libc"):
		return ownerShim
	case strings.Contains(f.File, "@v"), strings.Contains(f.File, "/vendor/"):
		return ownerLibrary
	}
	return ownerProgram
}

var markers = []string{"evenkeel.dev/reqtrace/region.", "evenkeel.dev/contrib/grpc/grpcregion."}

const cFunction = "._Cfunc_"

// moduleOf returns a library's module, or its package under vendor.
func moduleOf(f *trace.StackFrame) string {
	if before, _, ok := strings.Cut(f.File, "@v"); ok {
		before = escaped.ReplaceAllStringFunc(before, func(s string) string { return strings.ToUpper(s[1:]) })
		for pkg := plainName(packageOf(f.Func)); pkg != "."; pkg = path.Dir(pkg) {
			if before == pkg || strings.HasSuffix(before, "/"+pkg) {
				return pkg
			}
		}
		if _, after, ok := strings.Cut(before, "/pkg/mod/"); ok { // the name of a main package has no path
			return after
		}
		return before
	}
	if _, after, ok := strings.Cut(f.File, "/vendor/"); ok {
		return path.Dir(after)
	}
	return ""
}

// The module cache writes a capital letter as !a.
var escaped = regexp.MustCompile("![a-z]")

// placeOf returns a stack's place, and the index of the library's frame that sleeps, or -1.
func placeOf(frames []frame, h int) (p place, inside int) {
	at := innermost(frames)
	if at < 0 {
		at = h // of the standard library
	} else if at > h && h >= 0 { // middleware around a library's handler
		if at = innermost(frames[:h+1]); at < 0 {
			at = h
		}
	}
	if at < 0 {
		p.op = opOf(frames)
		return p, -1
	}
	p.site, p.owner = siteOf(&frames[at].StackFrame), frames[at].owner
	if at > 0 && pathRoot(frames[at-1].Func) != "runtime" { // statements call the runtime
		p.call = shortFunc(frames[at-1].Func)
		if _, name, ok := strings.Cut(p.call, cFunction); ok {
			p.call = "C." + name
		}
	}
	p.op = opOf(frames[:at])
	p.reader = p.op == opRWMutex && reads(frames[:at])
	if h >= 0 && h != at && frames[h].owner >= ownerLibrary {
		p.handler = siteOf(&frames[h].StackFrame)
	}
	op, inside := napOf(frames[:at])
	if op != "" {
		p.op = op
	}
	if p.owner != ownerProgram {
		inside = -1
	}
	return p, inside
}

func innermost(frames []frame) int {
	at, best := -1, ownerShim
	for i := range frames {
		if o := frames[i].owner; o > best {
			at, best = i, o
		}
	}
	return at
}

func siteOf(f *trace.StackFrame) string {
	where := path.Base(f.File) + ":" + strconv.FormatUint(f.Line, 10)
	if m := moduleOf(f); m != "" {
		where += " in " + m
	}
	return shortFunc(f.Func) + " (" + where + ")"
}

func shortFunc(f string) string {
	generic := strings.IndexByte(f, '[') // type arguments may hold paths
	if generic < 0 {
		generic = len(f)
	}
	last := strings.LastIndexByte(f[:generic], '/')
	if last > 0 && isVersion(f[last+1:]) {
		dot := last + strings.IndexByte(f[last:], '.')
		f, last = f[:last]+f[dot:], strings.LastIndexByte(f[:last], '/')
	}
	f = plainName(f[last+1:])
	for _, wrapper := range []string{".deferwrap", ".gowrap"} { // of a defer and a go statement
		if i := strings.LastIndex(f, wrapper); i > 0 && strings.Trim(f[i+len(wrapper):], "0123456789") == "" {
			f = f[:i]
		}
	}
	return f
}

func isVersion(f string) bool {
	version, _, ok := strings.Cut(f, ".")
	return ok && len(version) > 1 && version[0] == 'v' && strings.Trim(version[1:], "0123456789") == ""
}

// The linker writes dots in the last element of a path as %2e.
func plainName(f string) string { return strings.ReplaceAll(f, "%2e", ".") }

func packageOf(function string) string {
	f, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(f, '/') + 1
	if dot := strings.IndexByte(f[slash:], '.'); dot >= 0 {
		return f[:slash+dot]
	}
	return f
}

// handlerOf returns the index of the frame of a request's handler, or -1. It is the innermost
// function that a dispatcher called, or what a library's handler calls of the program.
//
//	main.look              <- the handler
//	chi.(*Mux).routeHTTP      dispatches
//	main.logging.func1        middleware
//	http.HandlerFunc.ServeHTTP
func handlerOf(frames []frame) int {
	handler := -1
	for i := len(frames) - 1; i > 0; i-- {
		outer, inner := &frames[i], &frames[i-1]
		if !dispatches(outer) || dispatches(inner) {
			continue
		}
		if strings.HasPrefix(inner.Func, "net/http.(*ServeMux).") {
			return -1
		}
		if inner.owner <= ownerStd && outer.owner >= ownerLibrary && !strings.HasPrefix(inner.Func, "reflect.") ||
			serversOwn(outer.Func, inner.Func) {
			continue // the server's own work
		}
		if outer.owner == ownerStd && inner.owner <= ownerStd && !stdHandler(outer.Func, inner) {
			continue // it copies, allocates, or was preempted
		}
		handler = i - 1
		for handler > 0 && strings.HasPrefix(frames[handler].Func, "reflect.") {
			handler--
		}
		if inner.owner == ownerLibrary && packageOf(inner.Func) == packageOf(outer.Func) {
			handler = i // a library's own handler
		}
	}
	if handler < 0 || frames[handler].owner != ownerLibrary {
		return handler
	}
	for i := handler - 1; i >= 0; i-- {
		if frames[i].owner == ownerProgram {
			return i
		}
	}
	return handler
}

// handler is handlerOf without middleware that calls next(w, r), a function value. The line of such
// a call reaches several functions. With one route the middleware counts as the handler.
//
//	main.(*api).search                   <- the handler         main.(*api).store
//	main.run.(*api).observed.func7 (api.go:30)  middleware      main.run.(*api).observed.func8 (api.go:30)
//	net/http.HandlerFunc.ServeHTTP                              net/http.HandlerFunc.ServeHTTP
func (s *sites) handler(frames []frame) int {
	h := handlerOf(frames)
	for i := h; i > 0 && frames[i].owner >= ownerLibrary && frames[i-1].owner >= ownerLibrary; i-- {
		f, callee := &frames[i], frames[i-1].Func
		serves := strings.HasSuffix(callee, ".ServeHTTP")
		if !serves && !isClosure(f.Func) && !strings.HasSuffix(f.Func, ".ServeHTTP") {
			break
		}
		if s.callsSeveral(f, callee) || serves {
			h = i - 1
		}
	}
	return h
}

type line struct {
	file string
	line uint64
}

type call struct {
	pc             uint64
	caller, callee string
}

// A line may have two calls.
func (s *sites) callsSeveral(f *frame, callee string) bool {
	at := line{f.File, f.Line}
	c, known := s.calls[at]
	switch {
	case !known:
		s.calls[at] = call{f.PC, f.Func, callee}
		return false
	case c.callee == "":
		return true
	case c.callee == callee || c.caller == f.Func && c.pc != f.PC:
		return false
	}
	c.callee = ""
	s.calls[at] = c
	s.forget() // it is middleware, not a handler
	return true
}

// dispatchers are prefixes of libraries' functions that call handlers.
var dispatchers = []string{
	"github.com/gin-gonic/gin.(*Context).Next", "github.com/gin-gonic/gin.(*Engine).", "github.com/labstack/echo/",
	"github.com/gofiber/fiber/",
	"github.com/valyala/fasthttp.(*Server).serveConn", "google.golang.org/grpc.(*Server).process",
	"google.golang.org/grpc.getChainUnaryHandler",
	"github.com/go-chi/chi/", "github.com/gorilla/mux.", "github.com/julienschmidt/httprouter.",
}

func dispatches(f *frame) bool {
	name := f.Func
	switch {
	case f.owner == ownerStd:
		if strings.HasPrefix(name, "net/http.") || strings.HasPrefix(name, "net/http/internal/") {
			return strings.HasSuffix(name, ".ServeHTTP") || strings.HasSuffix(name, ".runHandler") ||
				name == "net/http.StripPrefix.func1"
		}
		return name == "net/rpc.(*service).call"
	case generatedHandler(name):
		return true
	case f.owner != ownerLibrary:
		return false
	case strings.HasSuffix(name, ".ServeHTTP"), strings.HasSuffix(name, ".runHandler"):
		return true
	}
	return hasAnyPrefix(name, dispatchers)
}

func hasAnyPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

func stdHandler(outer string, inner *frame) bool {
	if inner.owner == ownerRuntime {
		return false
	}
	return outer == "net/http.HandlerFunc.ServeHTTP" || outer == "net/http.(*fileHandler).ServeHTTP" ||
		strings.HasSuffix(inner.Func, ".ServeHTTP")
}

// serversOwn reports whether a dispatcher calls a function of its own server.
func serversOwn(outer, inner string) bool {
	return hasAnyPrefix(inner, prefixesHTTP2) || strings.HasPrefix(outer, "google.golang.org/grpc.(*Server).process") &&
		strings.HasPrefix(inner, "google.golang.org/grpc")
}

// generatedHandler reports whether protoc-gen-go-grpc wrote the function:
// _Greeter_SayHello_Handler.
func generatedHandler(name string) bool {
	name = name[len(packageOf(name)):]
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "."), ".")
	return strings.HasPrefix(name, "_") && strings.HasSuffix(name, "_Handler")
}
