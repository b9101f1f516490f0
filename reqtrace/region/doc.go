// Package region marks requests in an execution trace, for package reqtrace and the command
// evenkeel explain. It needs nothing but the standard library. While no trace is taken, it
// allocates nothing and takes some nanoseconds.
//
//	mux := http.NewServeMux()
//	server := &http.Server{Handler: region.Middleware(mux)}
//
// Requests of HTTP and gRPC are found without it. The region adds ids, and Middleware adds the
// route of each request, which is its class in a report.
package region
