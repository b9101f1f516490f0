package reqtrace

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/exp/trace"
)

// place is what a stack says about where in the code a goroutine is.
type place struct {
	site    string // function (file:line): the program's innermost; where it has none on the stack, a library's, with its module
	call    string // the function that site called: os.(*File).Sync, rate.(*Limiter).Wait, C.step; "": none
	op      string // what is asked for there: a system call's name, C, or what kind of thing is waited for; "": not known
	handler string // function (file:line): of the request's handler, where that is not site
}

// owner says to whom a function belongs. What is lower is rather how something is done, and what is higher why.
type owner uint8

const (
	ownerRuntime owner = iota // runtime, sync and internal packages
	ownerStd                  // the standard library's other packages
	ownerShim                 // thin layers above system calls and C
	ownerLibrary              // a module that the program requires
	ownerProgram
)

// ownerOf says to whom a frame's function belongs. A required module's files lie in a folder with its version, in the
// module cache and in what go build -trimpath writes (cmd/go, "Module cache layout"); vendored ones under vendor.
func ownerOf(f *trace.StackFrame) owner {
	root := pathRoot(f.Func)
	switch {
	case root == "runtime", root == "sync", root == "internal":
		return ownerRuntime
	case stdRoots[root]:
		return ownerStd
	case strings.Contains(f.Func, "._Cfunc_"), strings.HasPrefix(f.Func, "golang.org/x/sys/"), strings.HasPrefix(f.Func, "modernc.org/libc"):
		return ownerShim
	case moduleOf(f) != "":
		return ownerLibrary
	}
	return ownerProgram
}

// moduleOf returns the module that a frame's function comes from; "": the program's own, or the standard library.
func moduleOf(f *trace.StackFrame) string {
	if before, _, ok := strings.Cut(f.File, "@v"); ok {
		if _, after, ok := strings.Cut(before, "/pkg/mod/"); ok {
			before = after
		}
		return unescape(before)
	}
	if _, after, ok := strings.Cut(f.File, "/vendor/"); ok {
		return path.Dir(after) // the package: where the module ends, the path does not say
	}
	return ""
}

// unescape has capital letters be capital again: the module cache writes !a for A.
func unescape(module string) string {
	parts := strings.Split(module, "!")
	for i := 1; i < len(parts); i++ {
		if p := parts[i]; p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// placeOf returns the place of a stack, innermost frame first.
func placeOf(frames []trace.StackFrame) (p place) {
	at, best := -1, ownerRuntime
	for i := range frames {
		if o := ownerOf(&frames[i]); at < 0 || o > best {
			at, best = i, o
		}
	}
	if at < 0 {
		return p
	}
	p.site = siteOf(&frames[at])
	if at > 0 {
		p.call = shortFunc(frames[at-1].Func)
		if _, name, ok := strings.Cut(p.call, "._Cfunc_"); ok {
			p.call = "C." + name
		}
	}
	p.op = opOf(frames[:at])
	if h := handlerOf(frames); h >= 0 && h != at {
		p.handler = siteOf(&frames[h])
	}
	return p
}

// siteOf writes a frame as function (file:line), and the module of a library's.
func siteOf(f *trace.StackFrame) string {
	where := fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	if m := moduleOf(f); m != "" {
		where += " in " + m
	}
	return shortFunc(f.Func) + " (" + where + ")"
}

// ops are functions that say what is waited for, whoever calls them; a name that ends in a dot stands for all that
// begin with it.
var ops = map[string]string{
	"database/sql.(*DB).conn":                     "connection pool",
	"net/http.(*Transport).getConn":               "connection to a server",
	"golang.org/x/time/rate.(*Limiter).":          "rate limiter",
	"go.uber.org/ratelimit.":                      "rate limiter",
	"golang.org/x/sync/semaphore.(*Weighted).":    "semaphore",
	"golang.org/x/sync/singleflight.(*Group).":    "singleflight",
	"golang.org/x/sync/errgroup.(*Group).":        "group of goroutines",
	"sync.(*WaitGroup).":                          "group of goroutines",
	"sync.(*Cond).":                               "condition",
	"sync.(*Once).":                               "Once",
	"sync.(*RWMutex).":                            "RWMutex",
	"sync.(*Mutex).":                              "mutex",
	"internal/sync.(*Mutex).":                     "mutex",
	"time.Sleep":                                  "sleep",
	"net.(*Resolver).":                            "name server",
	"net.(*Dialer).":                              "new connection",
	"net.(*TCPListener).":                         "listener",
	"github.com/jackc/pgx/v5/pgxpool.(*Pool).":    "connection pool",
	"github.com/jackc/puddle/v2.(*Pool[...]).":    "connection pool",
	"github.com/redis/go-redis/v9/internal/pool.": "connection pool",
}

// opOf says what the frames inward of a place ask for: the outermost that is known, as a semaphore has a mutex inside.
func opOf(inner []trace.StackFrame) string {
	for i := len(inner) - 1; i >= 0; i-- {
		f := inner[i].Func
		if _, name, ok := strings.Cut(f, "._Cfunc_"); ok {
			return name
		}
		if op := opByName(f); op != "" {
			return op
		}
	}
	for i := range inner { // the innermost that has a name of its own
		name, ok := strings.CutPrefix(inner[i].Func, "syscall.")
		if !ok {
			name, ok = strings.CutPrefix(inner[i].Func, "golang.org/x/sys/unix.")
		}
		if l := strings.ToLower(name); ok && !strings.Contains(l, "syscall") {
			return l
		}
	}
	return ""
}

func opByName(f string) string {
	if op := ops[f]; op != "" {
		return op
	}
	for dot := strings.LastIndexByte(f, '.'); dot > 0; dot = strings.LastIndexByte(f[:dot], '.') {
		if op := ops[f[:dot+1]]; op != "" {
			return op
		}
	}
	return ""
}

// handlerOf returns the index of the frame of a request's handler: the innermost that a dispatcher called. Middleware
// of the program's own is called by one too, but calls the next one. -1: no dispatcher is on the stack.
func handlerOf(frames []trace.StackFrame) int {
	handler := -1
	for i := len(frames) - 1; i > 0; i-- {
		outer, inner := &frames[i], &frames[i-1]
		if !dispatches(outer) || dispatches(inner) {
			continue
		}
		if ownerOf(inner) <= ownerStd && ownerOf(outer) >= ownerLibrary {
			continue // a library reads or writes by itself
		}
		handler = i - 1
		if ownerOf(inner) == ownerLibrary && packageOf(inner.Func) == packageOf(outer.Func) {
			handler = i // a library's own handler, and the first function of its work
		}
	}
	return handler
}

// dispatches reports whether a function calls a handler that somebody else wrote.
func dispatches(f *trace.StackFrame) bool {
	name := f.Func
	switch {
	case strings.HasPrefix(name, "net/http.") || strings.HasPrefix(name, "net/http/internal/"):
		return strings.HasSuffix(name, ".ServeHTTP") || strings.HasSuffix(name, ".runHandler") || name == "net/http.StripPrefix.func1"
	case strings.HasPrefix(name, "net/rpc.(*service).call"), name == "reflect.Value.Call":
		return true
	case generatedHandler(name):
		return true
	case ownerOf(f) != ownerLibrary:
		return false
	}
	return strings.HasSuffix(name, ".ServeHTTP") || strings.HasSuffix(name, ".runHandler") || strings.HasPrefix(name, "github.com/gin-gonic/gin.(*Context).Next") ||
		strings.HasPrefix(name, "github.com/labstack/echo/") || strings.HasPrefix(name, "github.com/valyala/fasthttp.(*Server).serveConn") ||
		strings.HasPrefix(name, "google.golang.org/grpc.(*Server).process")
}

// generatedHandler reports whether a function is what protoc-gen-go-grpc writes for a method: _Greeter_SayHello_Handler.
func generatedHandler(name string) bool {
	name = name[len(packageOf(name)):]
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "."), ".")
	return strings.HasPrefix(name, "_") && strings.HasSuffix(name, "_Handler")
}

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	f, _, _ := strings.Cut(function, "[") // type arguments may hold paths
	slash := strings.LastIndexByte(f, '/') + 1
	if dot := strings.IndexByte(f[slash:], '.'); dot >= 0 {
		return f[:slash+dot]
	}
	return f
}
