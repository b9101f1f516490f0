package traces

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

const gzipMagic = "\x1f\x8b"

// Analyze reads a trace, gzipped or not. It returns at once when ctx ends, because a read of
// standard input cannot be interrupted.
func Analyze(ctx context.Context, name string, in io.Reader, o reqtrace.Options) (*verdict.Verdict, error) {
	type result struct {
		report *reqtrace.Report
		err    error
	}
	c := make(chan result, 1)
	go func() {
		plain, err := unpack(in)
		if err != nil {
			c <- result{nil, err}
			return
		}
		r, err := reqtrace.Analyze(ctx, plain, o)
		c <- result{r, err}
	}()
	select {
	case <-ctx.Done():
		return nil, cli.ErrInterrupted
	case r := <-c:
		var none *reqtrace.NoRequestsError
		switch {
		case ctx.Err() != nil:
			return nil, cli.ErrInterrupted
		case errors.As(r.err, &none):
			return nil, fmt.Errorf("%s: %s", name, noRequests(none, o.Region))
		case r.err != nil:
			return nil, fmt.Errorf("%s: %w", name, r.err)
		}
		return verdict.Of(r.report), nil
	}
}

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
	for _, c := range err.Candidates {
		fmt.Fprintf(&b, "\n  -request '%s'  # %d times", strings.ReplaceAll(c.Func, "'", `'\''`), c.Waits)
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
