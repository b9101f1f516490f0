// Package recorder lets a live service say why its requests were slow. It keeps Go's flight
// recorder running and takes a snapshot of it after a slow request. It keeps the newest snapshots
// and counts the slow requests in a history that spans hours and deployments. The commands evenkeel
// top and evenkeel report fetch the snapshots and say why the requests were slow.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond, Dir: "/var/lib/shop/recorder"})
//	...
//	defer rec.Stop(context.Background())
//	srv.Handler = rec.Middleware(mux)      // of other servers: rec.Begin and End
//	admin.Handle("/debug/evenkeel/", rec)  // the page, JSON and snapshots
//
// The mux decides who may see the page. The page shows names of functions, files and routes, and
// ids of requests and traces. Its readers can have snapshots taken. So put it on an admin mux, on
// an address that only operators reach. It shows no body, no header but X-Request-Id, and no query.
//
// # What it costs
//
// Tracing takes 2.5 ms of CPU time per second, 5 to 20 µs per request, 1 µs per second for each
// goroutine, and up to 4 MB of memory. See docs/guides/recorder.md for the figures. Options.CPU is
// the budget for tracing, snapshots and an analysis by the service together. The recorder keeps an account of
// the CPU time of the process and of its own. If the budget is too small, it records for a part of
// the time. It then records when requests come and one of the last minute was slow, or when the
// account is full. [Stats], the page and the log say for how much of the time it was off. In the
// shares of causes, the explained requests of a class stand for the others.
//
// The CPU clock of the thread measures snapshots and analyses. Tracing is spread over the whole
// program, so a model of events, goroutines and seconds estimates it at first. The recorder then
// compares the CPU time of requests with and without tracing, a dozen times. [Cost] has the ± of
// that measurement.
//
// # Requests are not disturbed
//
// A request reads the clock twice, counts and compares. If it was slow, it sends a note to the
// recorder's goroutine, if there is room, and goes on. Only that goroutine uses the disk and the
// flight recorder, whose snapshots take 5 to 20 ms (longer beyond 10,000 goroutines). If the disk
// is full or the directory is gone, snapshots are lost and counted, and nothing else is.
//
// # The analysis
//
// By default the service analyses nothing, because an analysis makes requests of a service with one
// processor wait. With Options.Dir the snapshots are files there, and remain when the process is
// killed. Without it they are files without a name, and go with the process.
//
// Options.InProcess analyses snapshots in the service. Causes are then on the page, in metrics and
// in the log, and [Recorder.Subscribe] has them. One goroutine works for 0.2 ms and then sleeps for
// 3.8 ms. It reads at most 4 MB of a snapshot. It skips the analysis while less than 64 MB are left
// of the memory limit (GOMEMLIMIT) or of the container. An analysis that panics or takes a minute
// loses only that snapshot. [Stats] says how many did and why. Options.Analyze names a program that
// does it outside of the service. This package runs nothing at init, and starts no other program.
//
// # What is counted
//
// The time of its handler decides whether a request is slow. The trace also shows the wait for a
// processor before the handler. A request that is slow only because of that wait is explained if a
// snapshot has it, but does not cause a snapshot. The recorder takes one if its own heartbeat, once
// a second, comes late by as much. A slow request without an explanation is counted with the
// reason: it is in a snapshot that the service keeps, the recorder was off, a snapshot had just been
// taken, its start was outside the window, or the snapshot failed. In the shares of causes, the
// explained requests of a class stand for the rest of it.
//
// # Others that trace
//
// runtime/trace.Start and /debug/pprof/trace work at the same time, and CPU profiles are in the
// snapshots. A process has one runtime/trace.FlightRecorder. If the program has started one, Start
// returns an error, and Options.Recorder shares it.
//
// # SIGTERM and panics
//
// The recorder takes no signals. A program that ends calls [Recorder.Stop], which takes a last
// snapshot. A panic in a handler, or before a deferred End, asks for a snapshot, if one is due, and
// goes on. If no caller recovers the panic, as net/http's server does, the process ends before the
// snapshot.
package recorder
