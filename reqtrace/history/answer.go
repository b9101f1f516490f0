package history

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"evenkeel.dev/reqtrace"
)

// ExplainTrace explains the slow requests of the execution trace in r. A trace without requests
// explains nothing. Of one that is cut off it explains what can be read.
func ExplainTrace(ctx context.Context, r io.Reader, t Trace, o reqtrace.Options) (*Explained, error) {
	e, err := Explain(reqtrace.Read(ctx, r, o), t)
	switch {
	case errors.Is(err, reqtrace.ErrNoRequests):
		return &Explained{}, nil
	case errors.Is(err, reqtrace.ErrBroken) && e.Requests+len(e.Slow) > 0:
		return e, nil
	}
	return e, err
}

// Answer is the other side of reqtrace/recorder's Options.Analyze, for a program of your own;
// evenkeel report -snapshot is one. It reads from in a line of JSON, which is a [Trace], and the
// execution trace after it. It writes to out what [ExplainTrace] says, as JSON.
func Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("history: the first line of the input: %w", err)
	}
	var t Trace
	if err := json.Unmarshal(line, &t); err != nil {
		return fmt.Errorf("history: the first line of the input: %w", err)
	}
	e, err := ExplainTrace(ctx, r, t, reqtrace.Options{})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(e)
}
