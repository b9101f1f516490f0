package region

import (
	"context"
	"net/http"
	"runtime/trace"

	"evenkeel.dev/reqtrace/internal/mark"
)

// Request is a request that has begun. The zero value is a request that is not traced.
type Request struct{ region *trace.Region }

// Start marks the start of a request in the execution trace. A report shows the first 64 bytes of
// id, which may be empty. The goroutine that calls Start must call End. Without a trace it does
// nothing.
func Start(ctx context.Context, id string) Request {
	if !trace.IsEnabled() {
		return Request{}
	}
	return start(ctx, id)
}

func start(ctx context.Context, id string) Request {
	r := Request{trace.StartRegion(ctx, mark.Region)}
	if id != "" {
		trace.Log(ctx, mark.ID, id[:min(len(id), 64)])
	}
	return r
}

// End marks the end of the request.
func (r Request) End() {
	if r.region != nil {
		r.region.End()
	}
}

// Middleware marks each request that next serves. The id is its X-Request-Id. Its class is the
// pattern that an http.ServeMux found around Middleware or within next. Another router may set
// http.Request.Pattern. The call that brought the request is marked too, by the header that
// [Transport] describes.
func Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trace.IsEnabled() {
			next.ServeHTTP(w, r)
			return
		}
		q := start(r.Context(), headers(r.Header).get("X-Request-Id"))
		MarkCaller(r.Context(), headers(r.Header).get)
		defer func() {
			mark.LogClass(r.Context(), r.Pattern) // a mux inside of next may have set it
			q.End()
		}()
		next.ServeHTTP(w, r)
	})
}
