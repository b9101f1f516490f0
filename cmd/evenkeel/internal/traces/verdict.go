// Package traces fetches execution traces, from a server or a recorder, and passes a verdict on
// them.
package traces

import (
	"context"
	"fmt"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// Verdict passes the verdict on the trace of that name. source is what a report calls it. pid is
// the process that serves a URL; 0: the one that listens there.
func Verdict(
	ctx context.Context, a *cli.App, name string, pid int, profiled bool, o reqtrace.Options,
) (source string, v *verdict.Verdict, err error) {
	if fetch.IsURL(name) {
		s, err := newEndpoint(name, nil)
		if err != nil {
			return "", nil, err
		}
		if s.process = pid; o.Beside != nil {
			s.process = noProcess
		}
		if s.seconds > 0 {
			fmt.Fprintf(a.Stderr, "taking a trace of %g s from %s\n", s.seconds, s.url)
		}
		b, beside, err := s.fetchBeside(ctx, profiled, func(format string, v ...any) {
			a.Say("explain", fmt.Sprintf(format, v...))
		})
		if err != nil {
			return "", nil, err
		}
		defer b.Close()
		if o.Beside != nil && beside != nil { // of -cpu-stat
			beside.CPU = o.Beside.CPU
		}
		if beside != nil {
			o.Beside = beside
		}
		v, err = Analyze(ctx, s.url, b, o)
		return s.url, v, err
	}
	in, source, err := cli.Open(name)
	if err != nil {
		if strings.Contains(name, observe.PProfPath) {
			err = fmt.Errorf("%w; write a server as HOST:PORT or http://HOST/PATH", err)
		}
		return "", nil, err
	}
	defer in.Close()
	v, err = Analyze(ctx, source, in, o)
	return source, v, err
}
