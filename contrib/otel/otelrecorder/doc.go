// Package otelrecorder exports what a recorder of evenkeel.dev/reqtrace/recorder finds to
// OpenTelemetry. It makes metrics, and a span for each slow request that says why it was slow:
//
//	slow, err := otelrecorder.New(otelrecorder.Options{})
//	rec, err := recorder.Start(ctx, recorder.Options{TraceID: slow.TraceID, InProcess: true})
//	err = slow.Attach(rec)
//	defer slow.Close()
//	srv.Handler = otelhttp.NewHandler(rec.Middleware(mux), "shop") // begins the span outside
//
// # The slow request's span
//
// The cause of a slow request is known some seconds after its span has ended. So the package makes
// another span, "slow request". It is a child of the request's span, over the same time, with these
// attributes:
//
//	evenkeel.cause               what took most of the extra time: "lock", "runqueue-gc", ...
//	evenkeel.class               what kind of request it was, such as the pattern of its route
//	evenkeel.words               the cause in words, with functions and lines
//	evenkeel.lost                seconds that the cause took beyond a usual request's
//	code.function.name           the function that waited
//	evenkeel.place               the same, with file and line
//	evenkeel.holder              the function that held what the request waited for
//	evenkeel.holder.place        the same, with file and line
//	evenkeel.snapshot            id of the trace, below the recorder's page: ./snapshot/ID
//	evenkeel.new                 true for the first one of a new cause
//
// A tail sampler has to wait for the span (decision_wait of the Collector's tail_sampling). A
// request has no such span if its own span is not sampled, if no snapshot explains it, or if more
// than 4,096 slow requests came after it. The recorder's page shows the trace id of each request.
//
// # Metrics
//
// Slow requests have points by cause and class, with the trace as exemplar. These need
// recorder.Options.InProcess. Beyond 64, classes share "(others)".
// docs/reference/metrics.md lists the metrics.
package otelrecorder
