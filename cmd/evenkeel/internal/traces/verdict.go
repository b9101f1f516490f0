// Package traces fetches execution traces from files, servers and recorders, and analyses them.
package traces

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/proc"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

// Verdict analyses a trace. Reports call it source.
func Verdict(
	ctx context.Context, a *cli.App, name string, o reqtrace.Options,
) (source string, v *verdict.Verdict, err error) {
	source, in, err := open(ctx, a, name, &o)
	if err != nil {
		return source, nil, err
	}
	defer in.Close()
	v, err = Analyze(ctx, source, in, o)
	return source, v, err
}

// open opens a file, or takes a trace from a URL. It sets o.Beside.
func open(
	ctx context.Context, a *cli.App, name string, o *reqtrace.Options,
) (source string, in io.ReadCloser, err error) {
	if !fetch.IsURL(name) {
		in, source, err = cli.Open(name)
		if err != nil && strings.Contains(name, observe.PProfPath) {
			err = fmt.Errorf("%w; write a server as HOST:PORT or http://HOST/PATH", err)
		}
		return source, in, err
	}
	s, err := newEndpoint(name, nil)
	if err != nil {
		return "", nil, err
	}
	if o.Beside != nil {
		s.cpu = o.Beside.CPU
	}
	if s.seconds > 0 {
		a.Say("explain", fmt.Sprintf("taking a trace of %g s from %s", s.seconds, s.url))
	}
	b, beside, err := s.fetchBeside(ctx, func(format string, v ...any) {
		a.Say("explain", fmt.Sprintf(format, v...))
	})
	if err != nil {
		return s.url, nil, err
	}
	if beside != nil {
		o.Beside = beside
	}
	return s.url, b, nil
}

// Service is a service whose trace is read with those of others.
type Service struct {
	*across.Service

	Source  string
	Verdict *verdict.Verdict // nil: the trace has no requests
}

// Services takes the traces of several services at the same time, and analyses one after the other.
// Targets are by name, the first service first. Options.Class is of the first one. The story says which
// of them makes its requests slow.
func Services(
	ctx context.Context, a *cli.App, names, targets []string, o reqtrace.Options,
) ([]Service, *across.Story, error) {
	list, options := make([]Service, len(names)), make([]reqtrace.Options, len(names))
	opened, errs := make([]io.ReadCloser, len(names)), make([]error, len(names))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said := *a
	said.Stderr = &lockedWriter{w: a.Stderr}
	var fleet across.Fleet
	var all sync.WaitGroup
	for i, name := range names {
		list[i].Service, options[i] = fleet.Service(name), o
		options[i].Each = list[i].Add
		if i > 0 {
			options[i].Class = ""
		}
		all.Go(func() {
			list[i].Source, opened[i], errs[i] = open(ctx, &said, targets[i], &options[i])
			if errs[i] != nil {
				cancel() // of the others
			}
		})
	}
	all.Wait()
	defer func() {
		for _, in := range opened {
			if in != nil {
				in.Close()
			}
		}
	}()
	for _, err := range errs { // the first that did not come from another
		if err != nil && !errors.Is(err, cli.ErrInterrupted) {
			return nil, nil, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	// The requests of all services are kept until the end. A low GOGC keeps garbage small next to them.
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(40))
	}
	for i := range list {
		v, err := Analyze(ctx, list[i].Source, opened[i], options[i])
		var none *NoRequestsError
		switch {
		case errors.As(err, &none) && i > 0:
			continue
		case err != nil:
			return nil, nil, err
		case i == 0 && v.Report().Requests == 0:
			return nil, nil, fmt.Errorf("%s: %s", list[i].Source, v.Sentence)
		}
		for k := range v.Report().Blocks {
			v.Report().Blocks[k].Slow = nil // for verdict.Compare only
		}
		list[i].Verdict = v
		list[i].End(v.Report())
	}
	return list, fleet.Join(), nil
}

// lockedWriter is for the messages of several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

const gzipMagic = "\x1f\x8b"

// Analyze reads a trace, gzipped or not. It returns when ctx ends.
func Analyze(ctx context.Context, name string, in io.Reader, o reqtrace.Options) (*verdict.Verdict, error) {
	report, err := cli.Await(ctx, func() (*reqtrace.Report, error) {
		plain, err := unpack(in)
		if err != nil {
			return nil, err
		}
		return reqtrace.Analyze(ctx, plain, o)
	})
	var none *reqtrace.NoRequestsError
	switch {
	case ctx.Err() != nil:
		return nil, cli.ErrInterrupted
	case errors.As(err, &none):
		return nil, &NoRequestsError{fmt.Sprintf("%s: %s", name, noRequests(none, o.Region))}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return verdict.Of(report), nil
}

// NoRequestsError is the error of a trace without requests. It names flags.
type NoRequestsError struct{ text string }

func (e *NoRequestsError) Error() string { return e.text }

func noRequests(err *reqtrace.NoRequestsError, region string) string {
	if region != "" {
		return fmt.Sprintf("no region of type %q has begun and ended in it; check the type", region)
	}
	var b strings.Builder
	b.WriteString("the trace has no requests of HTTP or gRPC: take it under load, name the function that waits " +
		"(evenkeel explain -request) or regions (-region), or wrap handlers with region.Middleware")
	if len(err.Candidates) > 0 {
		b.WriteString("; these waited again and again:")
	}
	for _, f := range err.Candidates {
		fmt.Fprintf(&b, "\n  -request '%s'", strings.ReplaceAll(f, "'", `'\''`))
	}
	return b.String()
}

func unpack(in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	if magic, _ := b.Peek(2); string(magic) != gzipMagic {
		return b, nil // Analyze says what is wrong with it
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("a gzip file that is cut off or corrupt: %w; compress it again", err)
	}
	return z, nil
}

const (
	explainSlowest = 10
	explainSettle  = 500 * time.Millisecond // of load, twice, before the trace
	endsWithin     = time.Second            // after its answers break off
)

type Tracing struct {
	Server   *proc.Process
	URL      string // of its /debug/pprof/trace
	Load     loadgen.Options
	Progress *load.Progress
	Keep     string // file for the trace; "": none
}

// Explain loads the server again, traces it and explains the trace.
func (x *Tracing) Explain(ctx context.Context) (*verdict.Verdict, error) {
	source, err := newEndpoint(x.URL, x.Load.TLS)
	if err != nil {
		return nil, err
	}
	x.Progress.Say("tracing %g s of the same load", source.seconds)
	defer x.Progress.Clear()
	b, beside, err := x.trace(ctx, source)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if x.Keep != "" {
		if err := b.save(x.Keep); err != nil {
			return nil, err
		}
	}
	return Analyze(ctx, source.url, b, reqtrace.Options{Slowest: explainSlowest, Beside: beside})
}

func (x *Tracing) trace(ctx context.Context, source *endpoint) (*spool, *cpuwatch.Beside, error) {
	ctx, cancel := x.Server.Until(ctx)
	defer cancel()
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
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
	b, beside, err := source.fetchBeside(ctx, func(format string, a ...any) {
		fmt.Fprintf(x.Progress, "evenkeel run: "+format+"\n", a...)
	})
	stopLoad()
	if loadErr := <-loaded; err == nil {
		err = loadErr
	}
	if err != nil && ctx.Err() == nil { // an answer breaks off a moment before its server's end is known
		select {
		case <-x.Server.Done():
		case <-time.After(endsWithin):
		}
	}
	if x.Server.Ended() {
		err = fmt.Errorf("the server ended: %s", x.Server.Exit())
	}
	if err != nil && b != nil {
		b.Close()
	}
	return b, beside, err
}
