package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"evenkeel.dev/internal/proc"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

const (
	explainSlowest = 10                     // requests that are shown with their breakdown
	explainSettle  = 500 * time.Millisecond // of load, and as much again, before the trace begins
)

// tracing is a server that is traced under load.
type tracing struct {
	server   *proc.Process
	base     string // of its /debug/pprof/
	load     loadgen.Options
	progress *progress
}

// explain puts the load on the server again, takes a trace meanwhile, and says why requests were slow.
func (x *tracing) explain(ctx context.Context) (url string, v *verdict.Verdict, err error) {
	source, err := newTraceSource(x.base+"trace", x.load.TLS)
	if err != nil {
		return "", nil, err
	}
	x.progress.say("tracing %g s of the same load", source.seconds)
	defer x.progress.clear()
	b, beside, err := x.trace(ctx, source)
	if err != nil {
		return "", nil, err
	}
	v, err = analyze(ctx, source.url, b, reqtrace.Options{Slowest: explainSlowest, Beside: beside})
	return source.url, v, err
}

// trace loads the server for as long as its trace takes, and its CPU profile meanwhile.
func (x *tracing) trace(ctx context.Context, source *traceSource) (*bytes.Buffer, *reqtrace.Beside, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	go func() {
		select {
		case <-x.server.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	o := x.load
	o.Requests, o.Warmup, o.OnMeasure = 0, explainSettle, nil
	steady(&o)
	o.Duration = time.Duration(source.seconds*1e9) + source.longest + source.patience // the trace's end ends it
	loaded := make(chan error, 1)
	go func() {
		_, err := putLoad(loadCtx, o)
		loaded <- err
	}()
	select {
	case <-time.After(2 * explainSettle):
	case <-ctx.Done():
	}
	b, beside, err := source.fetchBeside(ctx, true, func(format string, a ...any) { fmt.Fprintf(x.progress, "evenkeel run: "+format+"\n", a...) })
	stopLoad()
	if loadErr := <-loaded; err == nil {
		err = loadErr
	}
	select {
	case <-x.server.Done():
		return nil, nil, fmt.Errorf("the server ended: %s", x.server.Exit())
	default:
	}
	return b, beside, err
}
