package traces

import (
	"context"
	"fmt"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/proc"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

const (
	explainSlowest = 10
	explainSettle  = 500 * time.Millisecond // of load, twice, before the trace
)

// Tracing is a server to trace under load.
type Tracing struct {
	Server   *proc.Process
	URL      string // of its /debug/pprof/trace
	Load     loadgen.Options
	Progress *load.Progress
	Keep     string // file for the trace; "": none
}

// Explain loads the server again, traces it, and says why requests were slow.
func (x *Tracing) Explain(ctx context.Context) (url string, v *verdict.Verdict, err error) {
	source, err := newEndpoint(x.URL, x.Load.TLS)
	if err != nil {
		return "", nil, err
	}
	x.Progress.Say("tracing %g s of the same load", source.seconds)
	defer x.Progress.Clear()
	b, beside, err := x.trace(ctx, source)
	if err != nil {
		return "", nil, err
	}
	defer b.Close()
	if x.Keep != "" {
		if err := b.save(x.Keep); err != nil {
			return "", nil, err
		}
	}
	v, err = Analyze(ctx, source.url, b, reqtrace.Options{Slowest: explainSlowest, Beside: beside})
	return source.url, v, err
}

func (x *Tracing) trace(ctx context.Context, source *endpoint) (*spool, *reqtrace.Beside, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	go func() {
		select {
		case <-x.Server.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	o := x.Load
	o.Requests, o.Warmup, o.OnMeasure = 0, explainSettle, nil
	load.Steady(&o)
	o.Duration = time.Duration(source.seconds*1e9) + source.longest + source.patience // the trace ends it
	loaded := make(chan error, 1)
	go func() {
		_, err := load.Run(loadCtx, o)
		loaded <- err
	}()
	select {
	case <-time.After(2 * explainSettle):
	case <-ctx.Done():
	}
	b, beside, err := source.fetchBeside(ctx, true, func(format string, a ...any) {
		fmt.Fprintf(x.Progress, "evenkeel run: "+format+"\n", a...)
	})
	stopLoad()
	if loadErr := <-loaded; err == nil {
		err = loadErr
	}
	select {
	case <-x.Server.Done():
		err = fmt.Errorf("the server ended: %s", x.Server.Exit())
	default:
	}
	if err != nil && b != nil {
		b.Close()
	}
	return b, beside, err
}
