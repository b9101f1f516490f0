// Package traces fetches execution traces from files, servers and recorders, and analyses them.
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

// Verdict analyses a trace. source is its name in reports. pid is the process behind a URL. 0 means
// the one that listens there.
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
		if o.Beside != nil && beside != nil {
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
