package region

import (
	"context"
	"net/http"
	"runtime/trace"
)

// Name is the type of the regions that mark requests in a trace.
const Name = "evenkeel.request"

// IDCategory is the category of the log event that carries a request's id.
const IDCategory = "evenkeel.request.id"

// Request is a request that has begun. The zero value is one that is not traced.
type Request struct{ region *trace.Region }

// Start marks the start of a request in the execution trace, with an optional id that a report
// shows (at most 64 bytes of it). The calling goroutine must be the one that calls End. Where no
// trace is taken it does nothing.
func Start(ctx context.Context, id string) Request {
	if !trace.IsEnabled() {
		return Request{}
	}
	return start(ctx, id)
}

func start(ctx context.Context, id string) Request {
	r := Request{trace.StartRegion(ctx, Name)}
	if id != "" {
		trace.Log(ctx, IDCategory, id[:min(len(id), 64)])
	}
	return r
}

// End marks the end of the request.
func (r Request) End() {
	if r.region != nil {
		r.region.End()
	}
}

// Middleware marks each request that next serves. The id is the request's X-Request-Id, if it
// has one.
func Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trace.IsEnabled() {
			next.ServeHTTP(w, r)
			return
		}
		defer start(r.Context(), r.Header.Get("X-Request-Id")).End()
		next.ServeHTTP(w, r)
	})
}
