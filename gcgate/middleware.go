package gcgate

import "net/http"

// Middleware counts the requests of next in and out, all but long streams ([IsStream]).
func (g *Gate) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := g.Enter()
		defer t.Exit()
		next.ServeHTTP(w, r)
	})
}

// IsStream reports whether r asks for a long stream.
func IsStream(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }
