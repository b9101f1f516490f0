// Package region marks requests in an execution trace, for package reqtrace and the command
// evenkeel explain.
//
// It is what a service imports: it needs nothing but the standard library. While no trace is taken
// it does next to nothing: no allocation, some nanoseconds. One region a request:
//
//	mux := http.NewServeMux()
//	server := &http.Server{Handler: region.Middleware(mux)}
//
// A trace of net/http's server can be read without it; the region adds where the handlers begin
// and end, and ids.
package region
