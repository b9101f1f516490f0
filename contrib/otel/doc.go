// Package otel gives what a gate of evenkeel.dev/gcgate and a recorder of evenkeel.dev/reqtrace/recorder have to say to
// OpenTelemetry: metrics of both, and a span for each slow request that says why it was slow. Import it under another name, as
// go.opentelemetry.io/otel is called otel, too:
//
//	import evenkeel "evenkeel.dev/contrib/otel"
//
//	registration, err := evenkeel.RegisterGate(gate, evenkeel.Options{})
//
//	slow, err := evenkeel.NewRecorder(evenkeel.Options{})
//	rec, err := recorder.Start(ctx, recorder.Options{TraceID: slow.TraceID, InProcess: true})
//	err = slow.Attach(rec)
//	defer slow.Close()
//	srv.Handler = otelhttp.NewHandler(rec.Middleware(mux), "shop") // the recorder inside of what begins the span
//
// # The slow request's span
//
// Why a request was slow is known some seconds after its end: a snapshot is taken and analysed. Its span has
// ended then, and a span that has ended takes no attributes. So there is one more, "slow request", a child of the request's
// span, in the same trace and over the same time, with these attributes:
//
//	evenkeel.cause               what took most of it beyond a usual request's time: "lock", "runqueue-gc", ...
//	evenkeel.class               what kind of request it was, such as the pattern of its route
//	evenkeel.words               the cause in words, with functions and lines
//	evenkeel.lost                seconds that the cause took beyond a usual request's
//	code.function.name           the function that waited
//	evenkeel.place               the same, with file and line
//	evenkeel.holder              the function that had what was waited for
//	evenkeel.holder.place        the same, with file and line
//	evenkeel.snapshot            id of the trace, below the recorder's page: ./snapshot/ID
//	evenkeel.new                 true for the first one of a new cause
//
// It is exported seconds after the rest of its trace, which a tail sampler has to wait for (decision_wait of the Collector's
// tail_sampling). A request whose span is not sampled has none; nor has one that no snapshot explains, or of which
// the recorder did not keep what span it was: [Recorder.TraceID] keeps the last 4,096 slow ones.
//
// The other way, the recorder's page and its JSON show the trace id of each request, from [Recorder.TraceID].
//
// A new cause is a line of recorder.Options.Logger, too; go.opentelemetry.io/contrib/bridges/otelslog makes a log record of it.
//
// # Metrics of a gate
//
// All of [gcgate.Stats], but the words of its Advice. What is not known has no point. Attributes are in braces.
//
//	evenkeel.gate.policy{evenkeel.gate.policy}             1 for the policy that it has chosen
//	evenkeel.gate.state{evenkeel.gate.state}               1 for the state that it is in, 0 for the others
//	evenkeel.gate.requests                                 {request}, that entered
//	evenkeel.gate.requests.active                          {request}, in flight
//	evenkeel.gate.requests.oldest                          s, how long the oldest of them has been in flight, at least
//	evenkeel.gate.requests.overlapped{evenkeel.gate.collection}  {request}, that met a mark phase of the "gate", or an "other" one
//	evenkeel.gate.requests.stragglers                      {request}, that entered while the gate was collecting
//	evenkeel.gate.requests.refused                         {request}, under PolicyShed
//	evenkeel.gate.collections{evenkeel.gate.reason}        {collection}, the gate's own
//	evenkeel.gate.collections.escaped                      {collection}, that the runtime began by itself
//	evenkeel.gate.collections.unheeded                     {collection}, before or during which requests kept coming
//	evenkeel.gate.collections.without_turn                 {collection}
//	evenkeel.gate.collection.expected                      s, that the next one takes, from its announcement
//	evenkeel.gate.collection.next                          s, from now until it
//	evenkeel.gate.phase.count{evenkeel.gate.state}         {phase}, of collections that ended
//	evenkeel.gate.phase.time{evenkeel.gate.state}          s
//	evenkeel.gate.phase.max{evenkeel.gate.state}           s
//	evenkeel.gate.heap                                     By, objects, dead ones included
//	evenkeel.gate.heap.live                                By, after the last collection
//	evenkeel.gate.heap.trigger                             By, at which a collection is due
//	evenkeel.gate.heap.hard                                By, at which it does not wait for a turn
//	evenkeel.gate.memory.limit                             By
//	evenkeel.gate.allocated                                By, since the process began
//	evenkeel.gate.turn.count                               {turn}, that this replica has held
//	evenkeel.gate.turn.time                                s, for which it has
//	evenkeel.gate.turn.max                                 s
//	evenkeel.gate.turn.held_up                             s, the turn, or the wait for it, by one peer or holder; 0: not
//	evenkeel.gate.turn.held                                {turn}, that it holds now
//	evenkeel.gate.turn.lost                                {turn}, while they were held
//	evenkeel.gate.turn.limit                               {turn}, that may be held at once
//	evenkeel.gate.turn.load                                1, share of the time for which all would be held; above 1 they do not suffice
//	evenkeel.gate.turn.longest_wait                        s, if all replicas wanted one at once
//	evenkeel.gate.turn.spare                               s, that the heap takes from the trigger to the hard threshold
//	evenkeel.gate.replicas                                 {replica}
//	evenkeel.gate.advice                                   1 while the gate's page has advice
//
// # Metrics of a recorder
//
// All of [recorder.Stats], and the slow requests that it explains, by cause and class, with the trace as exemplar. There are
// 16 causes, and [Options].MaxClasses classes.
//
//	evenkeel.recorder.requests                             {request}
//	evenkeel.recorder.requests.slow                        {request}, by the service's own clock
//	evenkeel.recorder.requests.kept                        {request}, in snapshots that the service does not analyse
//	evenkeel.recorder.requests.explained{evenkeel.cause,evenkeel.class}  {request}, that a snapshot explains
//	evenkeel.recorder.lost{evenkeel.cause,evenkeel.class}  s, that a cause took beyond a usual request's
//	evenkeel.recorder.causes.new                           {cause}, new ones, at most five per hour
//	evenkeel.recorder.recording                            1 while it records
//	evenkeel.recorder.threshold                            s, from which on a request is slow
//	evenkeel.recorder.window                               s, that a snapshot goes back
//	evenkeel.recorder.window.size                          By
//	evenkeel.recorder.passed                               s, since it began; covered by passed is the coverage
//	evenkeel.recorder.covered                              s, while it recorded
//	evenkeel.recorder.off                                  s, how long it was off to stay within recorder.Options.CPU
//	evenkeel.recorder.snapshots                            {snapshot}
//	evenkeel.recorder.snapshots.analyzed                   {snapshot}
//	evenkeel.recorder.snapshots.failed{error.type}         {snapshot}, that say nothing
//	evenkeel.recorder.process.cpu                          s, that the process took
//	evenkeel.recorder.cpu{evenkeel.recorder.part}          s, CPU time of the recorder: "tracing", "snapshots", "analysis"
//	evenkeel.recorder.cpu.tracing.within                   s, ± of tracing's CPU time; 0: not measured yet
//	evenkeel.recorder.cpu.budget                           s, that it might have taken
//
// It was tried with OpenTelemetry's own SDK for Go, its readers and its span processors; with no exporter, and so no Collector, behind them.
//
// Source: https://opentelemetry.io/docs/specs/semconv/general/metrics/ and /naming/.
package otel
