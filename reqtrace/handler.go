package reqtrace

import "strings"

// handlerOf returns the index of the frame of a request's handler, which is the innermost function
// that a dispatcher called. Middleware calls another dispatcher. If a library's handler calls the
// program, the handler is what it calls. -1: there is none.
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
			continue // a server reads or writes by itself
		}
		if outer.owner == ownerStd && inner.owner <= ownerStd && !stdHandler(outer.Func, inner) {
			continue // it looks something up, copies or allocates, or was preempted
		}
		handler = i - 1
		for handler > 0 && strings.HasPrefix(frames[handler].Func, "reflect.") {
			handler--
		}
		if inner.owner == ownerLibrary && packageOf(inner.Func) == packageOf(outer.Func) {
			handler = i // a library's own handler, and the first function of its work
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

// handler is handlerOf without middleware that calls the next handler as a function value: next(w,
// r). The line of such a call reaches several functions, so with one route the middleware counts as
// the handler. If the compiler inlines it, each route has a copy with the same line.
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

// callsSeveral reports whether the call in f also calls other functions. Two calls on a line of one
// function are not the same call.
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
	s.forget() // what was taken for a handler is middleware
	return true
}

// dispatchers are functions of libraries that call a handler of somebody else's. A name that ends
// in a dot or a slash stands for all that begin with it.
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
	for _, d := range dispatchers {
		if strings.HasPrefix(name, d) {
			return true
		}
	}
	return false
}

// stdHandler reports whether a dispatcher of net/http calls a handler of the standard library. What
// a file server calls is its own work.
func stdHandler(outer string, inner *frame) bool {
	if inner.owner == ownerRuntime {
		return false
	}
	return outer == "net/http.HandlerFunc.ServeHTTP" || outer == "net/http.(*fileHandler).ServeHTTP" ||
		strings.HasSuffix(inner.Func, ".ServeHTTP")
}

// serversOwn reports whether a dispatcher calls a function of its own server, of HTTP/2 or gRPC.
func serversOwn(outer, inner string) bool {
	for _, p := range []string{"net/http.(*http2", "net/http/internal/http2.", "golang.org/x/net/http2."} {
		if strings.HasPrefix(inner, p) {
			return true
		}
	}
	return strings.HasPrefix(outer, "google.golang.org/grpc.(*Server).process") &&
		strings.HasPrefix(inner, "google.golang.org/grpc")
}

// generatedHandler reports whether protoc-gen-go-grpc wrote the function, such as
// _Greeter_SayHello_Handler.
func generatedHandler(name string) bool {
	name = name[len(packageOf(name)):]
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "."), ".")
	return strings.HasPrefix(name, "_") && strings.HasSuffix(name, "_Handler")
}
