// Package recorder lets a live service say why its requests were slow. It keeps Go's flight
// recorder running, takes a snapshot after a slow request and keeps the newest ones. A history
// counts the slow requests, over hours and deployments. The commands evenkeel top and evenkeel
// report fetch the snapshots and say why the requests were slow.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond, Dir: "/var/lib/shop/recorder"})
//	...
//	defer rec.Stop(context.Background())
//	srv.Handler = rec.Middleware(mux)      // of other servers: rec.Begin and End
//	admin.Handle("/debug/evenkeel/", rec)  // the page, JSON and snapshots
//
// The mux decides who may see the page, so use an admin mux that only operators reach. The page
// shows names of functions, files and routes, and ids of requests and traces. Its readers can
// have snapshots taken.
//
// Options.CPU is the budget for tracing, snapshots and an analysis by the service. If it is too
// small, the recorder records for a part of the time. [Stats], the page and the log say for how
// much. Only the recorder's goroutine uses the disk and the flight recorder, so requests do not
// wait for them. See docs/guides/recorder.md for costs and limits.
//
// # The analysis
//
// By default the service analyses nothing, because an analysis makes requests of a service with
// one processor wait. With Options.Dir the snapshots remain when the process is killed.
//
// Options.InProcess analyses snapshots in the service. Causes are then on the page, in metrics
// and in the log, and [Recorder.Subscribe] has them. The recorder skips an analysis while less
// than 64 MB of the memory limit (GOMEMLIMIT) or of the container are left. Options.Analyze names
// a program that does it outside of the service.
//
// # Others that trace
//
// runtime/trace.Start and /debug/pprof/trace work at the same time. CPU profiles are in the
// snapshots. A process has one runtime/trace.FlightRecorder. Options.Recorder shares one that the
// program has started.
//
// # SIGTERM and panics
//
// The recorder takes no signals. A program that ends calls [Recorder.Stop], which takes a last
// snapshot. A panic in a handler, or before a deferred End, asks for a snapshot and goes on.
package recorder
