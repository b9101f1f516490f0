// Package frameworks_test wraps services of HTTP frameworks for a gate. docs/adopt/frameworks.md is
// its table.
package frameworks_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"github.com/valyala/fasthttp"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

const path = "/hello.Hello/Say"

// Gin has an engine that is an http.Handler.
func Gin(g *gcgate.Gate, say func() string) http.Handler {
	r := gin.New()
	r.GET(path, func(c *gin.Context) { c.String(http.StatusOK, say()) })
	return httpgate.Wrap(g, r)
}

// Echo has an instance that is an http.Handler. e.Start would serve without the gate.
func Echo(g *gcgate.Gate, say func() string) http.Handler {
	e := echo.New()
	e.GET(path, func(c echo.Context) error { return c.String(http.StatusOK, say()) })
	return httpgate.Wrap(g, e)
}

// Chi has net/http's middlewares.
func Chi(g *gcgate.Gate, say func() string) http.Handler {
	r := chi.NewRouter()
	// The first Use, because what is before it is not counted.
	r.Use(func(next http.Handler) http.Handler { return httpgate.Wrap(g, next) })
	r.Get(path, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(say())) })
	return r
}

const streamPath = "/hello.Hello/Watch"

// Connect has net/http's handlers. A content type marks the streams of its own protocol. Those of
// gRPC look like unary calls, and count.
func Connect(g *gcgate.Gate, say func() string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(path, connect.NewUnaryHandler(path,
		func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[wrapperspb.StringValue], error) {
			return connect.NewResponse(wrapperspb.String(say())), nil
		}))
	mux.Handle(streamPath, connect.NewServerStreamHandler(streamPath,
		func(_ context.Context, _ *connect.Request[emptypb.Empty],
			s *connect.ServerStream[wrapperspb.StringValue],
		) error {
			return s.Send(wrapperspb.String(say()))
		}))
	return httpgate.New(g, httpgate.Options{Stream: func(r *http.Request) bool {
		return httpgate.IsStream(r) || strings.HasPrefix(r.Header.Get("Content-Type"), "application/connect+")
	}}).Wrap(mux)
}

// FastHTTP wraps a handler that is not an http.Handler.
func FastHTTP(g *gcgate.Gate, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(c *fasthttp.RequestCtx) {
		if g.Refusing() {
			g.CountRefused()
			c.Response.Header.Set("Retry-After", strconv.Itoa(int(g.Remaining()/time.Second)+1))
			c.SetStatusCode(fasthttp.StatusServiceUnavailable)
			return
		}
		t := g.Enter()
		defer t.Exit()
		next(c)
	}
}
