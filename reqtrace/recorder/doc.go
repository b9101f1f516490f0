// Package recorder lets a live service say why its requests were slow: it keeps Go's flight
// recorder running, takes a snapshot of it when a request was slow, finds out why, and adds that to
// a history that goes over hours and deployments.
//
//	rec, err := recorder.Start(ctx, recorder.Options{Slow: 50 * time.Millisecond, Dir: "/var/lib/shop/recorder"})
//	...
//	defer rec.Stop(context.Background())
//	srv.Handler = rec.Middleware(mux)      // of other servers: rec.Begin and End
//	admin.Handle("/debug/evenkeel/", rec)  // the page, JSON and snapshots
//
// Who may see the page is decided by the mux that it is on. It shows names of functions, files and
// routes, ids of requests and traces, and who asks it can have snapshots taken: put it on an admin
// mux, on an address that only operators reach. It shows no body, no header but X-Request-Id, and
// no query.
//
// # What it costs
//
// Tracing takes 2.5 ms of CPU time a second, 5 to 20 µs a request and 1 µs a second for each
// goroutine, and up to 4 MB of memory: docs/guides/recorder.md has the figures. Options.CPU is a
// budget for tracing, snapshots and their analysis together. The recorder keeps an account of the
// CPU time that the process takes and that it takes itself, and records for a part of the time if
// it has to. Then it records when requests come, and one of the last minute was slow or the account
// is full. [Stats], the page and the log say for how much of the time it was off, and the shares of
// causes stand for what was not seen, class by class.
//
// Snapshots and analyses are measured by the CPU clock of their thread. Tracing is spread over the
// whole program, so it is a model of events, goroutines and seconds, until it is measured: by the
// CPU time of the service's requests with it and without, a dozen times. [Cost] has ± of that.
//
// # Requests are not disturbed
//
// A request reads the clock twice, counts and compares. Where it was slow it sends a note to the
// recorder's goroutine, if there is room, and goes on. Everything else is that goroutine's: it
// alone asks the flight recorder, whose snapshots take 5 to 20 ms (longer beyond 10,000
// goroutines), and the disk. A disk that is full or a directory that is gone loses snapshots, which
// are counted, and nothing else.
//
// # The analysis
//
// A snapshot is analysed in the service's own process, by one goroutine that works for 0.2 ms and
// then sleeps for 3.8 ms. It reads 4 MB of a snapshot at most, and takes some megabytes of memory
// while it goes on. It is skipped while less than 64 MB are left of the memory limit (GOMEMLIMIT)
// or of the container. An analysis that panics or takes a minute costs that snapshot alone; [Stats]
// says how many did and why. Options.Analyze names a program that does it apart from the service.
// This package runs nothing at init, and starts no other program.
//
// # What is counted
//
// A request is slow by the time that its handler takes. The trace sees more, such as the wait for a
// processor before it. A request that is slow by that alone is explained if a snapshot has it, but
// asks for none. The recorder takes one when its own heartbeat, once a second, comes late by as much.
// A slow request that has no explanation is counted by why: the recorder was off, a snapshot had
// been taken shortly before, its start fell out of the window, the snapshot failed. What is
// explained of a class of requests stands for the rest of the class in the shares of causes.
//
// # Others that trace
//
// runtime/trace.Start and /debug/pprof/trace work beside it, and CPU profiles are in its snapshots.
// A process has one runtime/trace.FlightRecorder: where the program has one, Start says so, and
// Options.Recorder shares it.
//
// # SIGTERM and panics
//
// The recorder takes no signals: a program that ends calls [Recorder.Stop], which takes what is
// left. A panic in a handler, or before a deferred End, asks for a snapshot, if one is due, and
// goes on; where nobody recovers it, as net/http's server does, the process is gone before.
package recorder
