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

// ClassCategory is the category of the log event that carries a request's class: its route.
const ClassCategory = "evenkeel.request.class"

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
// has one; its class is the pattern of the route that an http.ServeMux has found for it, around
// Middleware or within (another router may set http.Request.Pattern).
func Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trace.IsEnabled() {
			next.ServeHTTP(w, r)
			return
		}
		q := start(r.Context(), r.Header.Get("X-Request-Id"))
		defer func() {
			if p := r.Pattern; p != "" { // a mux inside of next has set it
				trace.Log(r.Context(), ClassCategory, p[:min(len(p), 128)])
			}
			q.End()
		}()
		next.ServeHTTP(w, r)
	})
}
