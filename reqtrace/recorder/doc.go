// Package recorder lets a live service say why its requests were slow. It keeps Go's flight
// recorder running, and keeps a snapshot after a slow request. The commands evenkeel top and
// evenkeel report fetch the snapshots and say why the requests were slow.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond, Dir: "/var/lib/shop/recorder"})
//	...
//	defer rec.Stop(context.Background())
//	srv.Handler = rec.Middleware(mux)      // of other servers: rec.Begin and End
//	admin.Handle("/debug/evenkeel/", rec)  // the page, JSON and snapshots
//
// Use an admin mux that only operators reach. The page shows names of functions, files and
// routes, and ids of requests. Its readers can have snapshots taken.
//
// Options.CPU bounds what tracing and snapshots take. Options.InProcess says where snapshots are
// analysed. See docs/recorder.md.
//
// runtime/trace.Start and /debug/pprof/trace work at the same time. A panic in a handler, or before
// a deferred End, asks for a snapshot and goes on.
package recorder
