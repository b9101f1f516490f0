package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

const (
	explainSlowest = 10                     // requests that are shown with their breakdown
	explainSettle  = 500 * time.Millisecond // of load, and as much again, before the trace begins
)

// explained is the verdict on one variant.
type explained struct {
	label   string
	source  string // of the trace
	verdict *verdict.Verdict
}

// heading says whose verdict follows.
func (x *explained) heading(variants int) string {
	if variants > 1 {
		return "why requests were slow: " + x.label
	}
	return "why requests were slow"
}

// checkExplain looks at the flags of evenkeel run that concern -explain.
func (r *runner) checkExplain() error {
	f := r.flags
	if f.explainHTML != "" {
		f.explain = true
	}
	switch {
	case !f.explain:
		return nil
	case f.pprof == "off":
		return fmt.Errorf("-explain takes its trace from the server's /debug/pprof/, but -pprof is off")
	case f.load.output == toStdout:
		return fmt.Errorf("-explain prints below the table, and -o - leaves it out; write the runs to a file")
	case f.explainHTML == toStdout:
		return fmt.Errorf("-explain-html - would mix with the table; give the page a file")
	case f.explainHTML != "" && len(f.variants) > 1:
		return fmt.Errorf("-explain-html is the page of one variant; -explain prints the verdicts of all %d", len(f.variants))
	}
	return nil
}

// explainWindow puts the same load on the server again, takes a trace meanwhile, and says why
// requests were slow. The measured window was without a trace; it counts even if this fails.
func (m *measurement) explainWindow(ctx context.Context) {
	source, v, err := m.explainTrace(ctx)
	switch {
	case ctx.Err() != nil: // said already
	case err != nil:
		if len(m.runner.variants) > 1 {
			err = fmt.Errorf("%s: %w", m.variant.label, err)
		}
		m.runner.unexplained = errors.Join(m.runner.unexplained, fmt.Errorf("-explain: %w", err))
	default:
		m.runner.explanations = append(m.runner.explanations, explained{m.variant.label, source, v})
	}
}

func (m *measurement) explainTrace(ctx context.Context) (url string, v *verdict.Verdict, err error) {
	source, err := newTraceSource(m.profiler.base+"trace", m.runner.load.TLS)
	if err != nil {
		return "", nil, err
	}
	m.progress.say("tracing %g s of the same load", source.seconds)
	defer m.progress.clear()
	b, err := m.traceUnderLoad(ctx, source)
	if err != nil {
		return "", nil, err
	}
	v, err = analyze(ctx, source.url, b, reqtrace.Options{Slowest: explainSlowest})
	return source.url, v, err
}

// traceUnderLoad loads the server for as long as its trace takes.
func (m *measurement) traceUnderLoad(ctx context.Context, source *traceSource) (*bytes.Buffer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	go func() {
		select {
		case <-m.server.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	o := m.runner.load
	o.Requests, o.Warmup, o.OnMeasure = 0, explainSettle, nil
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
	b, err := source.fetch(ctx)
	stopLoad()
	if loadErr := <-loaded; err == nil {
		err = loadErr
	}
	select {
	case <-m.server.Done():
		return nil, fmt.Errorf("the server ended: %s", m.server.Exit())
	default:
	}
	return b, err
}
