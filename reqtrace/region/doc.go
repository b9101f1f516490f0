// Package region marks requests in an execution trace, for package reqtrace and the command
// evenkeel explain.
//
// It is what a service imports: it needs nothing but the standard library. While no trace is taken
// it does next to nothing: no allocation, some nanoseconds. One region a request:
//
//	mux := http.NewServeMux()
//	server := &http.Server{Handler: region.Middleware(mux)}
//
// Requests of HTTP and gRPC are found in a trace without it; the region adds ids, and Middleware the route of each
// request, which is its class in a report.
package region
