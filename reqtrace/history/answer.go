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
// explains nothing. If the trace is cut off, ExplainTrace explains the part that it can read.
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

// Answer is for a program that you name in reqtrace/recorder's Options.Analyze. The command
// evenkeel report -snapshot calls it too. Answer reads a [Head] from the first line of in, as JSON,
// and the execution trace from the rest. It writes the result of [Head.Explain] to out, as JSON.
func Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("history: read the first line of the input: %w", err)
	}
	var h Head
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("history: decode the first line of the input: %w", err)
	}
	e, err := h.Explain(ctx, r, reqtrace.Options{})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(e)
}
