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

// Explain explains the slow requests of the trace in r. Each request goes to the cause that took
// most beyond what it takes of the usual request of its class. The usual requests are those of
// the same trace if it has 20 of the class, else those of Trace.Usual. A class whose usual
// request is slow is compared with nothing. Explain explains up to 4,096 slow requests, also of a
// trace that is cut off.
func (h *Head) Explain(ctx context.Context, r io.Reader, o reqtrace.Options) (*Explained, error) {
	o.Beside = &reqtrace.Beside{CPU: h.CPU}
	e, err := explain(reqtrace.Read(ctx, r, o), &h.Trace)
	switch {
	case errors.Is(err, reqtrace.ErrNoRequests):
		return &Explained{}, nil
	case errors.Is(err, reqtrace.ErrBroken) && e.Requests+len(e.Slow) > 0:
		return e, nil
	}
	return e, err
}

// Answer is for a program that Options.Analyze of package reqtrace/recorder names. It reads a
// [Head] as JSON from the first line of in, and the trace from the rest. It writes an [Explained]
// as JSON.
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
