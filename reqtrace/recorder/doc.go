// Package recorder lets a live service say why its requests were slow. It keeps Go's flight
// recorder running, takes a snapshot after a slow request and keeps the newest ones. A history
// counts the slow requests. The commands evenkeel top and evenkeel report fetch the snapshots and
// say why the requests were slow.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond, Dir: "/var/lib/shop/recorder"})
//	...
//	defer rec.Stop(context.Background())
//	srv.Handler = rec.Middleware(mux)      // of other servers: rec.Begin and End
//	admin.Handle("/debug/evenkeel/", rec)  // the page, JSON and snapshots
//
// Use an admin mux that only operators reach. The page shows names of functions, files and
// routes, and ids of requests and traces. Its readers can have snapshots taken.
//
// Options.CPU is the budget for tracing, snapshots and an analysis by the service. If it is too
// small, the recorder records for a part of the time. Requests wait neither for the disk nor for
// the flight recorder. By default the service analyses nothing, because an analysis makes its
// requests wait. See docs/recorder.md for costs and limits.
//
// runtime/trace.Start and /debug/pprof/trace work at the same time. A process has one
// runtime/trace.FlightRecorder, which Options.Recorder shares.
//
// The recorder takes no signals. A program that ends calls [Recorder.Stop], which takes a last
// snapshot. A panic in a handler, or before a deferred End, asks for a snapshot and goes on.
package recorder
