package otelrecorder_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"evenkeel.dev/contrib/otel/otelrecorder"
	"evenkeel.dev/reqtrace/recorder"
)

// A service whose handler is slow. Its request has a span, as otelhttp makes one, and gets another
// when it is known why.
func ExampleNew() {
	ctx := context.Background()
	spans := tracetest.NewSpanRecorder() // in a service, an exporter
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	slow, err := otelrecorder.New(otelrecorder.Options{TracerProvider: provider})
	if err != nil {
		fmt.Println(err)
		return
	}
	rec, err := recorder.Start(ctx, recorder.Options{
		Slow: 50 * time.Millisecond, CPU: 1, InProcess: true, TraceID: slow.TraceID,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := slow.Attach(rec); err != nil {
		fmt.Println(err)
	}
	fmt.Println("a second one:", slow.Attach(rec))
	explained := make(chan recorder.Explained, 1)
	rec.Subscribe(func(e recorder.Explained) {
		select {
		case explained <- e:
		default:
		}
	})

	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) })
	watched := rec.Middleware(mux)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		// otelhttp.NewHandler in its place.
		ctx, span := provider.Tracer("http").Start(q.Context(), "GET")
		defer span.End()
		watched.ServeHTTP(w, q.WithContext(ctx))
	}))
	defer srv.Close()
	var e recorder.Explained
	for end := time.Now().Add(4 * time.Minute); e.TraceID == "" && time.Now().Before(end); {
		res, err := srv.Client().Get(srv.URL + "/report")
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		select {
		case e = <-explained:
		case <-time.After(time.Second):
			// A busy machine may be too slow for the analysis, which has the lowest priority.
		}
	}
	rec.Stop(ctx)
	fmt.Println(slow.Close())

	ended := spans.Ended()
	first := slices.IndexFunc(ended, func(s trace.ReadOnlySpan) bool { return s.Name() != "GET" })
	if first < 0 {
		fmt.Println("no request was explained")
		return
	}
	why := ended[first]
	request := slices.ContainsFunc(ended[:first],
		func(s trace.ReadOnlySpan) bool { return s.SpanContext().SpanID() == why.Parent().SpanID() })
	fmt.Println(why.Name(), "is a child:", request)
	fmt.Println("the page has its trace:", e.TraceID == why.SpanContext().TraceID().String())
	for _, a := range why.Attributes() {
		switch a.Key {
		case "evenkeel.class":
			fmt.Println(a.Key, "=", a.Value.AsString())
		case "evenkeel.cause": // sleep, or machine, where that stood still meanwhile
			fmt.Println("it has", a.Key)
		}
	}
	// Output:
	// a second one: otelrecorder: a recorder is attached already; make another Recorder by New
	// <nil>
	// slow request is a child: true
	// the page has its trace: true
	// it has evenkeel.cause
	// evenkeel.class = GET /report
}
